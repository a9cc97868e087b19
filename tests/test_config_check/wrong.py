"""Wrong configs as one table: base, rule that finds it, changes.

Lines go on where they are indented. A value is Python in which a name with a
capital letter is the type of a part: ``Adam(lr=1)`` is a dict. The rule is
the one that names a changed setting, or what stands behind an arrow;
'-' if none does.
"""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.test_config_check.changes import DROP

SHORT = {
    '$P': 'train_dataloader.dataset.pipeline',
    '$V': 'val_dataloader.dataset.pipeline',
    '$E': 'test_dataloader.dataset.pipeline',
    '$D': 'train_dataloader.dataset',
    '$G': 'model.decode_head.generator',
    '$F': 'model.decode_head.calibration',
    '$H': 'model.decode_head',
    '$S': 'train_cfg.phases',
    '$C': 'default_hooks.checkpoint',
    '$N': 'model.data_preprocessor',
}


class Names(dict):
    """What a value of the table may use."""

    def __missing__(self, name: str) -> Any:
        if not name[0].isupper():
            raise NameError(name)
        return partial(dict, type=name)


@dataclass(frozen=True)
class Case:
    """A wrong config."""

    base: str
    rule: str
    changes: dict[str, Any]
    path: str = ''

    @property
    def paths(self) -> list[str]:
        """Of the settings that may be named."""
        return [*self.changes, *([self.path] if self.path else [])]

    def in_folder(self, folder: Path) -> dict[str, Any]:
        """The changes, with the folder of the base's data."""
        return {
            path: value.replace('{folder}', str(folder))
            if isinstance(value, str)
            else value
            for path, value in self.changes.items()
        }

    def __str__(self) -> str:
        return f'{self.base} {", ".join(self.changes)}'[:70]


def read(table: str) -> list[Case]:
    """Make cases of the lines of a table."""
    known = Names(dict=dict, DROP=DROP, nan=float('nan'), inf=float('inf'))
    cases, base = [], ''
    for line in re.sub(r'\n  +', ' ', table).strip().splitlines():
        if line.startswith('['):
            base = line.strip('[]')
            continue
        rule, _, text = line.partition(' ')
        changes = {}
        text, _, where = text.partition('-> ')
        for each in filter(None, text.strip().split('; ')):
            path, _, value = each.strip().partition(' =')
            place = SHORT.get(path[:2], path[:2]) + path[2:]
            changes[place] = eval(value.strip(), {}, known)
        cases.append(Case(base, rule, changes, where))
    return cases


TABLE = r"""
[small()]
unknown-key       optim_wraper = OptimWrapper()
unknown-key       train_dataloadr = {}
unknown-key       val_dataloder = {}
unknown-key       test_dataloaders = {}
unknown-key       val_evalutor = {}
unknown-key       param_schedular = []
unknown-key       custom_hook = []
unknown-key       default_hook = {}
misspelt-section  randomnes = dict(seed=1)
unknown-key       load_form = 'x.pth'
unknown-key       train_cgf = {}
unknown-key       model_wraper_cfg = {}
unknown-key       custom_import = {}
unknown-key       log_procesor = {}
unknown-key       visualiser = {}
unknown-key       $C.intervall = 1
unknown-key       $C.max_keep_ckpt = 1
unknown-key       $C.save_besst = 'GED_3'
unknown-key       default_hooks.logger.intervals = 1
unknown-key       default_hooks.chekpoint = CheckpointHook()
unknown-key       default_hooks.loger = LoggerHook()
unknown-key       custom_hooks[0].wieght = 1.0
unknown-key       custom_hooks[0].intervall = 2
unknown-key       train_dataloader.sampler.shufle = True
unknown-key       val_dataloader.sampler.shufle = True
unknown-key       train_dataloader.batchsize = 2
unknown-key       train_dataloader.num_worker = 2
unknown-key       train_dataloader.presistent_workers = True
unknown-key       train_dataloader.samples_per_gpu = 2
unknown-key       train_dataloader.droplast = True
build             $D.data_prefix.seg_map = 'x'
build             $D.data_prefix.img = 'x'
build             $D.data_prefix.ann_path = 'x'
unknown-key       $D.metainfo.clases = ['a']
unknown-key       $D.metainfo.class_flip = []
unknown-key       $D.metainfo.pallete = []
unknown-key       $D.img_sufix = '.png'
unknown-key       $D.ignore_idx = 255
unknown-key       $D.pipelines = []
unknown-key       $D.testmode = True
unknown-key       $D.indexes = 2
unknown-key       $P[1].keepall = True
unknown-key       $P[1].drawn = True
unknown-key       $P[2].metakeys = []
unknown-key       model.decode_heads = {}
unknown-key       model.discriminater = {}
unknown-key       model.loss_sample = {}
unknown-key       model.loss_pixel = {}
unknown-key       model.loss_advs = {}
unknown-key       model.noises = {}
unknown-key       model.nonfinit = 'skip'
build             model.train_cfg.num_sample = 2
build             model.test_cfg.num_sample = 2
build             model.test_cfg.sead = 2
unknown-key       $N.means = [1, 1, 1]
unknown-key       $N.seg_pad_value = 255
unknown-key       $N.bgr2rgb = True
unknown-key       $H.num_class = 2
unknown-key       $H.temperatur = 2.0
unknown-key       $H.blackbox = {}
unknown-key       $G.nose_size = 4
unknown-key       $G.base_channel = 4
unknown-key       $G.drop_out = 0.1
unknown-key       $F.channel = 4
unknown-key       $F.num_block = 4
unknown-key       model.discriminator.base_channel = 4
unknown-key       train_cfg.val_intervall = 4
unknown-key       train_cfg.phase = []
unknown-key       train_cfg.max_iters = 100
build             $S[0].iter = 4
build             $S[1].cycle = {}
unknown-key       val_evaluator[0].num_sample = 3
unknown-key       val_evaluator[0].class = [1]
unknown-key       val_evaluator[0].ignoreindex = 255
build             optim_wrapper.calibraton = dict(optimizer=Adam())
unknown-key       optim_wrapper.generator.clipgrad = dict(max_norm=1)
unknown-key       optim_wrapper.generator.accumulative_count = 2
unknown-key       optim_wrapper.generator.optimizer.weightdecay = 0.1
unknown-key       optim_wrapper.generator.optimizer.learning_rate = 0.1
unknown-key       optim_wrapper.generator.optimizer.beta = [0.5, 0.9]
unknown-key       optim_wrapper.generator.paramwise_cfg = dict(custom_key={})
unknown-key       param_scheduler[0].millestones = [2]
unknown-key       param_scheduler[0].gama = 0.5
unknown-key       env_cfg.cudnn_benchmarks = True
unknown-key       randomness.sed = 1
unknown-key       randomness.determinstic = True
build             log_processor.by_epochs = False
unknown-key       val_cfg.fp61 = True
unregistered-type model.type = 'CARSegmenter'
unregistered-type $H.type = 'CarHead'
unregistered-type $G.type = 'RefinementUnet'
unregistered-type $F.type = 'ConvCalib'
unregistered-type model.discriminator.type = 'DCGAN'
unregistered-type model.loss_samples = CalibrationLos()
unregistered-type model.loss_pixels = CrossEntropy()
unregistered-type model.loss_adv = AdversarialLos()
unregistered-type model.noise = GaussianNoise()
unregistered-type $N.type = 'SegDataPreprocessor'
unregistered-type $D.type = 'MultiAnnotatorsDataset'
unregistered-type $P[0].type = 'LoadImage'
unregistered-type $P[1].type = 'LoadMultiAnnotation'
unregistered-type train_dataloader.sampler.type = 'InfinitSampler'
unregistered-type val_dataloader.sampler.type = 'DefaultSamplr'
unregistered-type val_evaluator[0].type = 'GED'
unregistered-type test_evaluator.type = 'GedMetrics'
unregistered-type train_cfg.type = 'AlternatingLoop'
unregistered-type val_cfg.type = 'ValidationLoop'
unregistered-type optim_wrapper.generator.optimizer.type = 'Adaam'
unregistered-type optim_wrapper.generator.type = 'OptimWraper'
build             optim_wrapper.constructor = 'NetworkConstructor'
unregistered-type param_scheduler[0].type = 'MultistepsLR'
unregistered-type custom_hooks[0].type = 'R1'
unregistered-type $C.type = 'SafeCheckpoint'
unregistered-type default_hooks.timer.type = 'TimerHook'
unregistered-type visualizer.type = 'SegVisualizer'
unregistered-type model.type = 3
unregistered-type $D.type = ['LIDCDataset']
build             model = DROP
build             model.type = DROP
build             $H = DROP
build             $H.type = DROP
build             $H.num_classes = DROP
build             $G = DROP
build             $F = DROP
build             $G.type = DROP
build             $F.type = DROP
build             model.discriminator = DROP
build             model.discriminator.type = DROP
build             $N.type = DROP
incomplete-loop   train_dataloader = DROP
build             $D = DROP
build             $D.type = DROP
build             $D.metainfo = DROP
build             $D.metainfo.classes = DROP
build             $P[0].type = DROP
build             val_dataloader.dataset = DROP -> val_dataloader
no-sampler        val_dataloader.sampler = DROP
incomplete-loop   val_dataloader = DROP
incomplete-loop   val_cfg = DROP
incomplete-loop   val_evaluator = DROP
incomplete-loop   test_cfg = DROP
incomplete-loop   test_evaluator = DROP
incomplete-loop   train_cfg = DROP
build             $S = DROP
build             $S[0].iters = DROP
build             $S[0].train = DROP
incomplete-loop   optim_wrapper = DROP
build             optim_wrapper.constructor = DROP
preflight         optim_wrapper.generator = DROP
build             optim_wrapper.generator.optimizer = DROP
build             optim_wrapper.generator.optimizer.type = DROP
build             param_scheduler[0].type = DROP
build             param_scheduler[0].milestones = DROP
build             $C.type = DROP
build             custom_hooks[0].type = DROP
build             val_evaluator[0].type = DROP
no-part           model = 'car'
declared-type     $H = 'CARHead'
declared-type     $H.num_classes = '2'
declared-type     $H.num_classes = 2.0
declared-type     $H.temperature = 'warm'
declared-type     $H.ignore_index = '255'
declared-type     $G = ['RefinementUNet']
declared-type     $G.noise_size = 'eight'
declared-type     $G.noise_size = 4.5
declared-type     $G.base_channels = [4]
declared-type     $G.depth = '2'
declared-type     $G.dropout = 'some'
declared-type     $F.channels = '4'
build             model.train_cfg.num_samples = 2.5
build             model.train_cfg.num_samples = '3'
build             model.test_cfg.num_samples = None
declared-type     model.train_cfg = 3
declared-type     model.loss_samples = 'CalibrationLoss'
declared-type     model.nonfinite = True
declared-type     $N.mean = 'imagenet'
no-part           train_dataloader = 'mine'
build             train_dataloader.batch_size = 'two'
build             train_dataloader.batch_size = 2.5
declared-type     train_dataloader.num_workers = 'all'
preflight         train_dataloader.num_workers = 1.5
no-part           train_dataloader.sampler = 'InfiniteSampler'
no-part           $D = 'LIDC'
declared-type     $P = LoadCheckedImage()
declared-type     $D.metainfo = ['background', 'cell']
declared-type     $D.data_prefix = 'images/train'
declared-type     $D.ignore_index = 'void'
declared-type     $D.indices = 'all'
declared-type     $D.test_mode = 'no'
no-part           train_cfg = 'AlternatingTrainLoop'
declared-type     $S = 8
build             $S = []
build             $S[0].iters = '4'
build             $S[0].iters = 4.5
build             $S[0].train = 'calibration'
build             $S[1].cycles = dict(discriminator=5)
declared-type     train_cfg.val_interval = 'often'
no-part           val_evaluator = 'GEDMetric'
declared-type     val_evaluator[0].num_samples = 'all'
declared-type     val_evaluator[0].num_samples = 2.5
declared-type     val_evaluator[0].classes = 'cell'
no-part           optim_wrapper = 'Adam'
build             optim_wrapper.generator = 'Adam'
no-part           optim_wrapper.generator.optimizer = 'Adam'
build             optim_wrapper.generator.optimizer.lr = 'fast'
declared-type     optim_wrapper.generator.accumulative_counts = 'two'
no-part           param_scheduler = 'MultiStepLR'
declared-type     param_scheduler[0].milestones = 'late'
declared-type     param_scheduler[0].gamma = 'half'
no-part           default_hooks = ['checkpoint']
no-part           $C = 'SafeCheckpointHook'
declared-type     $C.interval = 'often'
declared-type     default_hooks.logger.interval = 'often'
no-part           custom_hooks = 'R1Hook'
declared-type     custom_hooks[0].weight = 'ten'
no-part           randomness = 3
build             randomness.seed = 'zero'
build             log_level = 'LOUD'
class-number      $H.num_classes = 0
class-number      $H.num_classes = -2
build             $H.temperature = 0.0
build             $H.temperature = -1.0
build             $H.temperature = [1.0, 1.0, 1.0]
build             $G.noise_size = 0
build             $G.noise_size = -4
build             $G.base_channels = 0
build             $G.depth = 0
build             $G.dropout = 1.5
build             $G.dropout = -0.5
unregistered-type $G.norm_cfg = BNN()
preflight         $F.in_channels = 1
build             $F.channels = 0
build             model.nonfinite = 'ignore'
build             model.train_cfg.num_samples = 0
build             model.train_cfg.num_samples = -3
build             model.test_cfg.num_samples = 0
build             model.test_cfg.mode = 'tiles'
build             model.test_cfg.mode = 'slide'
build             model.compile = ['refiner']
other-units       $N.std = [0, 0, 0]
other-units       $N.std = [127.5, 127.5, -1]
preflight         $N.mean = [1, 2]
build             model.loss_adv = AdversarialLoss(loss_weight=-1.0)
build             model.loss_samples = CalibrationLoss(loss_weight=nan)
build             train_dataloader.batch_size = 0
build             train_dataloader.batch_size = -2
build             train_dataloader.num_workers = -1
build             train_dataloader.persistent_workers = True
unregistered-type train_dataloader.sampler.type = 'ClassAwareSampler'
build             $D.indices = 100
class-number      $D.metainfo.classes = []
preflight         $P = []
unknown-key       $P[1].type = 'LoadAnnotations' -> pipeline
unknown-key       $P[1].type = 'RandomClassFlips' -> RandomClassFlips
unregistered-type $P[2].type = 'PackSegInput'
build             $S[0].iters = -4
build             $S[0].train = []
build             $S[0].train = ['calibrator']
build             $S[1].cycles = dict(calibration=[1, 1])
build             train_cfg.val_interval = 0
build             train_cfg.val_interval = -5
build             val_evaluator[0].num_samples = 0
build             val_evaluator[0].num_samples = []
build             val_evaluator[0].classes = [7]
build             val_evaluator[0].classes = ['cel']
build             val_evaluator[0].absent = 'zero'
build             val_evaluator[0].collect_device = 'disk'
build             optim_wrapper.generator.optimizer.lr = -1.0
odd-number        optim_wrapper.generator.optimizer.lr = nan
build             optim_wrapper.generator.optimizer.betas = [2.0, 0.9]
build             optim_wrapper.generator.optimizer.betas = [0.9]
build             optim_wrapper.generator.optimizer.weight_decay = -1
build             optim_wrapper.generator.accumulative_counts = 0 ->
  accumulative_counts
preflight         optim_wrapper.generator.accumulative_counts = 3
unknown-key       optim_wrapper.generator.clip_grad = dict(max=1)
build             param_scheduler[0].by_epoch = True
declared-type     param_scheduler[0].begin = 'phse'
build             param_scheduler[0].begin = 9
-                 $C.interval = 0
build             default_hooks.logger.interval = 0
build             $C.save_best = 'GED_16'
best-score        $C.save_best = 'mIoU'
-                 $C.rule = 'lower'
build             custom_hooks[0].weight = -1.0
build             custom_hooks[0].interval = 0
build             custom_hooks[0] = NetworkEMAHook(momentum=2.0)
-                 custom_hooks[0] = NetworkEMAHook(network='gen')
build             env_cfg.mp_cfg = dict(mp_start_method='clone')
unregistered-type model.init_cfg = Pretraned()
declared-type     model.pretrained = 'resnet.pth'
class-number      $D.metainfo.classes = ['background', 'cell', 'wall']
class-number      val_dataloader.dataset.metainfo.classes = ['background',
  'cell', 'wall']
build             $G.num_classes = 3
build             $F.num_classes = 3
build             model.discriminator.num_classes = 3
build             val_evaluator[0].num_classes = 3
build             $H.ignore_index = 0
unlabelled-id     $D.ignore_index = 0
unlabelled-id     val_dataloader.dataset.ignore_index = 254
unlabelled-id     $P[1].ignore_index = 254
unlabelled-id     val_evaluator[0].ignore_index = 0
unlabelled-id     $N.seg_pad_val = 0
preflight         test_evaluator.num_samples = [3, 16]
preflight         model.test_cfg.num_samples = 2
build             model.train_cfg.samples_per_chunk = 1
-                 $S = [dict(iters=4, train=['calibration'])]
build             model.discriminator = None
preflight         optim_wrapper.discriminator = None
build             model.loss_pixels = LabelCrossEntropy(ignore_index=0)
preflight         model.loss_pixels = LabelCrossEntropy(class_weight=[1.0,
  1.0, 1.0])
preflight         model.loss_samples = EnergyLoss(classes=[5])
unknown-key       model.black_box = {}
unregistered-type $H.black_box = LiveBlackBox()
build             $D.metainfo.class_flips = [[0, 5, 0.5]]
preflight         model.train_cfg.soft_labels = True; model.loss_pixels =
  DiceLoss(); $P[1].keep_all = True
preflight         model.train_cfg.soft_labels = True -> keep_all
random-weights    $S = [dict(iters=4, train=['calibration']), dict(iters=4,
  train=['generator'])]; optim_wrapper.discriminator = DROP
build             model.test_cfg.mode = 'slide'; model.test_cfg.crop_size =
  [8, 8]; model.test_cfg.stride = [16, 16]
build             $D.data_root = '/nowhere'
build             $D.data_prefix.img_path = 'imgs' -> imgs
build             $D.data_prefix.seg_map_path = 'labels' -> labels
build             val_dataloader.dataset.data_root = '/nowhere'
build             val_dataloader.dataset.data_prefix.img_path = 'imgs' -> imgs
build             test_dataloader.dataset.data_root = '/nowhere'
build             $D.ann_file = 'train.txt'
build             $D.ann_file = 'train.csv'
build             $D.img_suffix = '.bmp'
build             $D.seg_map_suffix = '.tif'
build             load_from = '/nowhere/x.pth'
preflight         model.init_cfg = Pretrained(checkpoint='/nowhere/x.pth') ->
  /nowhere/x.pth
unregistered-type $H.black_box = LiveBlackBox(config='/nowhere/x.py')
read              custom_imports = dict(imports=['no_such_package'])
declared-type     $H = [CARHead(num_classes=2)]
unknown-key       model.generator = RefinementUNet()
unknown-key       model.backbone = ResNet(depth=50)
unknown-key       $H.in_channels = 512
unknown-key       $H.loss_decode = CrossEntropyLoss()
declared-type     $H.align_corners = 'no'
declared-type     $H.black_box = 'my_config.py'
declared-type     model.test_cfg = 'whole'
build             model.test_cfg.seed = 'abc'
build             model.test_cfg.num_samples = [3]
build             model.test_cfg.samples_per_chunk = 'auto'
build             model.test_cfg.compile = 'yes'
build             model.test_cfg.mode = 'slide'; model.test_cfg.crop_size =
  [8]; model.test_cfg.stride = [4, 4]
build             model.test_cfg.mode = 'slide'; model.test_cfg.crop_size =
  '8x8'; model.test_cfg.stride = [4, 4]
build             model.train_cfg.num_samples = True
build             model.train_cfg.soft_labels = 'yes'
declared-type     $N = ['StochasticDataPreProcessor']
build             $N.size = [16]
declared-type     $N.size_divisor = 'sixteen'
declared-type     $N.bgr_to_rgb = 'yes'
declared-type     $N.pad_val = 'black'
declared-type     $G.norm_cfg = 'BN'
unknown-key       $G.type = 'UNet' -> generator
preflight         $F.type = 'FCNHead'
build             model.discriminator.type = 'ResNet'
build             model.loss_samples = CrossEntropyLoss()
build             model.loss_adv = CalibrationLoss()
declared-type     model.noise = 'NormalNoise'
unknown-key       model.noise = NormalNoise(std=2)
unknown-key       model.align_corners = 'False'
-                 model.init_cfg = Pretrained()
build             train_dataloader = [dict(batch_size=2)]
build             $D.data_root = None
declared-type     $D.data_root = 5
unknown-key       $D.dataset = MultiAnnotatorDataset()
declared-type     $D.label_map = {'255': 1}
declared-type     $D.label_map = [[255, 1]]
build             $D.patient_pattern = '('
build             $D.metainfo.palette = [[0, 0, 0]]
build             $D.metainfo.palette = 'viridis'
different-meaning $D.metainfo.classes = 'background'
different-meaning $D.metainfo.classes = ['cell', 'cell']
different-meaning $D.metainfo.classes = [0, 1]
declared-type     $D.img_suffix = ['.png', 3]
declared-type     $D.max_refetch = 'many'
declared-type     $D.ann_file = ['train.txt']
no-part           $P[0] = 'LoadCheckedImage'
build             $P[0].color_type = 'colour'
no-part           $P[0] = [LoadCheckedImage()]
preflight         $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True)]
preflight         $P = [PackStochasticInputs(), LoadCheckedImage(),
  LoadMultiAnnotations(draw=True)]
preflight         $P = [LoadCheckedImage(), PackStochasticInputs()]
build             $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  RandomCrop(crop_size=[8]), PackStochasticInputs()]
build             $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  RandomFlip(prob=2), PackStochasticInputs()]
build             $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  RandomFlip(prob=0.5, direction='sideways'), PackStochasticInputs()]
build             $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  Resize(keep_ratio=True), PackStochasticInputs()]
preflight         $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  RandomResize(scale='16x16', ratio_range=[0.5, 2.0]), PackStochasticInputs()]
build             $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  RandomRotate(prob=0.5, degree=-10), PackStochasticInputs()]
unknown-key       $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  PhotoMetricDistortion(brightness='strong'), PackStochasticInputs()]
build             train_dataloader.collate_fn = 'pseudo_collate'
unregistered-type train_dataloader.collate_fn = dict(type='my_collate')
build             train_dataloader.batch_size = '2'
unregistered-type train_dataloader.batch_sampler = BatchSampler()
declared-type     train_dataloader.sampler.shuffle = 'yes'
declared-type     train_dataloader.sampler.seed = 'x'
build             val_dataloader.batch_size = 0
declared-type     $V[1].draw = 'never'
declared-type     $E[2].raw_range = 'yes'
build             test_dataloader.dataset.type = 'Cityscapes24Dataset'
build             $D =
  RepeatDataset(dataset=LIDCDataset(pipeline=[LoadCheckedImage(),
  LoadMultiAnnotations(draw=True), PackStochasticInputs()]))
build             $D = ConcatDataset(datasets='both')
unknown-key       train_cfg.type = 'IterBasedTrainLoop' -> train_cfg
idle-schedule     train_cfg = IterBasedTrainLoop(max_iters=4)
declared-type     train_cfg.val_begin = 'never'
declared-type     train_cfg.dynamic_intervals = [4]
build             train_cfg.max_discriminator_accuracy = 80
build             $S[0].train = [['calibration']]
build             $S[0].train = ['calibration', 'calibration']
declared-type     $S[0] = 'calibration'
build             $S[1].cycles = ['discriminator', 1, 1]
build             $S[0].iters = True
wrong-scoring     val_cfg.type = 'TestLoop'
wrong-scoring     test_cfg.type = 'ValLoop'
no-part           val_cfg = ['ValLoop']
declared-type     $C.max_keep_ckpts = 'all'
no-epochs         $C.by_epoch = True
build             $C.save_best = ['GED_3', 'mIoU']
unknown-key       $C.type = 'LoggerHook' -> checkpoint
-                 default_hooks.param_scheduler = None
declared-type     default_hooks.logger.log_metric_by_epoch = 'no'
declared-type     default_hooks.visualization.draw = 'yes'
-                 custom_hooks[0].priority = 'URGENT'
unknown-key       custom_hooks[0].network = 'generator'
no-part           custom_hooks = [[R1Hook()]]
best-score        custom_hooks[0] = EarlyStoppingHook(monitor='mIoU')
build             param_scheduler[0].end = 1
odd-number        param_scheduler[0].gamma = -1.0
declared-type     param_scheduler[0].milestones = ['late']
build             param_scheduler[0].milestones = 2
unknown-key       param_scheduler[0].type = 'PolyLR' -> milestones
idle-schedule     param_scheduler = [CosineAnnealingLR(by_epoch=False)]
build             param_scheduler = dict(generatr=[ConstantLR()])
build             param_scheduler = [LinearLR(start_factor=0)]
no-part           optim_wrapper.generator.optimizer = [Adam()]
build             optim_wrapper.generator.optimizer.lr = '1e-3'
build             optim_wrapper.generator.optimizer.lr = None
build             optim_wrapper.generator.optimizer.betas = '0.9,0.999'
build             optim_wrapper.generator.clip_grad = 1.0
declared-type     optim_wrapper.generator.clip_grad = dict(max_norm='one')
-                 optim_wrapper.generator.type = 'AmpOptimWrapper'
-                 optim_wrapper.generator.paramwise_cfg =
  dict(custom_keys=dict(bias=2))
unknown-key       optim_wrapper.type = 'OptimWrapper' -> optim_wrapper
unknown-key       optim_wrapper.optimizer = Adam(lr=0.001)
declared-type     val_evaluator[0].prefix = 3
incomplete-loop   val_evaluator = []
unknown-key       val_evaluator[0].metric = 'GED'
declared-type     val_evaluator[0].csv_file = 5
preflight         val_evaluator = [IoUMetric(iou_metrics=['mIou'])]
unregistered-type val_evaluator = [GEDMetric(num_samples=3), HMIoU()]
preflight         test_evaluator = CalibrationMetric(num_bins=0)
unregistered-type visualizer.vis_backends = [TensorboardVis()]
no-part           visualizer.vis_backends = 'LocalVisBackend'
declared-type     visualizer.alpha = 'opaque'
declared-type     visualizer.name = True
build             env_cfg.mp_cfg = 'fork'
declared-type     env_cfg.cudnn_benchmark = 'yes'
build             env_cfg.mp_cfg = dict(opencv_threads=0)
-                 env_cfg.dist_cfg = dict(backend='ncll')
build             env_cfg = []
read              custom_imports = 'mmcar'
build             load_from = ['a.pth']
build             load_from = True
build             load_from =
  '/work/wt/checker/tests/test_wrong_configs/unseen.py'
declared-type     resume = 'work_dirs/x/iter_5.pth'
build             randomness.seed = -1
build             randomness.seed = 1.5
declared-type     randomness.deterministic = 'yes'
declared-type     log_processor.window_size = 'ten'
declared-type     log_processor.custom_cfg = dict(data_src='loss')
unknown-scope     default_scope = 'mmsegmentation'
unknown-scope     default_scope = 3
-                 sync_bn = 'yes'
no-part           model_wrapper_cfg = 'DDP'
build             auto_scale_lr = dict(enable=True)
build             auto_scale_lr = dict(enable=True, base_batch_size='x')
unknown-key       work_dirs = 'x'
no-part           tta_model = 'SegTTAModel'
unknown-key       $H.num_clases = 2
declared-type     $G.noise_size = [4]
unknown-key       $G.activation = 'relu'
declared-type     $H.temperature = dict(generator=1.0)
build             $F.dropout = 2.0
build             $F.norm_cfg = dict(typ='BN')
build             model.discriminator.base_channels = -4
declared-type     model.loss_samples = [CalibrationLoss(), 'EnergyLoss']
build             model.loss_adv = AdversarialLoss(mode='wgan')
build             model.test_cfg.stride = [4, 4]
build             model.test_cfg.crop_size = [8, 8]
build             $N.size = [32, 32]
build             $N.test_cfg = dict(size_divider=16)
unknown-key       model.noise = SobolNoise(seed=3)
declared-type     $P[1].keep_all = 'both'
build             $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  RandomCrop(crop_size=[8, 8], cat_max_ratio=75.0), PackStochasticInputs()]
preflight         $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  Resize(scale=[0, 0]), PackStochasticInputs()]
build             $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  WindowIntensity(low=400, high=-1000), PackStochasticInputs()]
build             $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  NormalizePercentiles(lower=99.5, upper=0.5), PackStochasticInputs()]
declared-type     $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  PadAll(size=[8]), PackStochasticInputs()]
unregistered-type $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  RandomClassFlip(), PackStochasticInputs()]
declared-type     train_dataloader.drop_last = 'no'
build             train_dataloader.prefetch_factor = 2
declared-type     train_dataloader.pin_memory = 'yes'
unknown-key       train_dataloader.sampler.batch_size = 2
unregistered-type train_dataloader.sampler = WeightedRandomSampler()
different-meaning $D.metainfo.classes = dict(background=0, cell=1)
-                 $D.metainfo.palette = [[0, 0, 0], [300, 0, 0]]
build             $D.metainfo.class_flips = [[0, 1]] -> flip
unlabelled-id     $D.ignore_index = -1
-                 $D.data_prefix.seg_map_path = 5
declared-type     $D.ann_file = 5
build             $D.seg_map_suffix = '_label.png'
declared-type     $D.key_prefix = 5
build             $D.indices = [0, 99]
preflight         train_cfg.by_epoch = True
declared-type     custom_hooks[0].weight = None
declared-type     $C.interval = 1.5
declared-type     $C.save_best = True
build             default_hooks.logger.interval = None
unregistered-type default_hooks.sampler_seed.type = 'DistSamplerSeed'
-                 param_scheduler[0].begin = -1
declared-type     param_scheduler[0].gamma = [0.5]
build             param_scheduler = [LinearLR(start_factor=2.0, end=4,
  by_epoch=False)]
declared-type     param_scheduler = [CosineAnnealingLR(T_max='all',
  by_epoch=False)]
build             param_scheduler = [MultiStepLR(milestones=[2])]
declared-type     optim_wrapper.generator.optimizer.eps = '1e-8'
declared-type     optim_wrapper.generator.optimizer.amsgrad = 'yes'
unknown-key       optim_wrapper.generator.optimizer.momentum = 0.9
unknown-key       optim_wrapper.generator.clip_grad = dict(type='val',
  clip_value=1)
build             optim_wrapper.constructor = 'DefaultOptimWrapperConstructor'
unknown-key       val_evaluator[0].distance = 'dice'
declared-type     val_evaluator[0].num_samples = [3, '16']
build             test_evaluator = HMIoUMetric(num_samples=0)
unlabelled-id     test_evaluator = IoUMetric(iou_metrics=['mIoU'],
  ignore_index=0)
-                 log_processor.window_size = 0
build             env_cfg.mp_cfg = dict(opencv_num_threads='0')
build             env_cfg.resource_limit = 'max'
build             randomness.seed = '42'
declared-type     randomness.diff_rank_seed = 'yes'
read              custom_imports = {'import': ['mmcar']}
build             load_from = 5
unknown-scope     default_scope = 'mmdet'
-                 sync_bn = True
unknown-key       model.type = 'EncoderDecoder' -> EncoderDecoder
unknown-key       model.auxiliary_head = FCNHead(in_channels=1024)
build             $N.std = DROP
other-units       $N.mean = [0.485, 0.456, 0.406]; $N.std = [0.229, 0.224,
  0.225]
declared-type     $N.batch_augments = 'mixup'
build             model.test_cfg.samples = 16
build             model.test_cfg.threshold = 0.3
unknown-key       model.num_classes = 2
unknown-key       $H.num_samples = 16
unknown-key       $H.noise_size = 8
unknown-key       $H.dropout_ratio = 0.1
unknown-key       $H.sampler = OHEMPixelSampler()
unknown-key       $F.backbone = ResNet(depth=18)
preflight         $F = MMSegCalibration(backbone=UNet(base_channels=4,
  norm_cfg=BN()), decode_head=FCNHead(in_channels=64, in_index=4, channels=4,
  num_convs=1, concat_input=False, norm_cfg=BN()))
build             $F = MMSegCalibration(backbone=UNet(base_channels=4,
  norm_cfg=BN()))
build             $G.film = 'scale'
build             $G.upsample = 'bilinear'
build             $G.gumbel = dict(correlation=4)
build             $G.gumbel = dict(correlation_length=-3)
unknown-key       $G.type = 'GumbelSampler' -> noise_size
build             $G.temperature = -0.1
declared-type     $G.temperature = '0.05'
preflight         model.discriminator = AuthorsDiscriminator(image_size=[128,
  128])
preflight         model.discriminator.in_channels = 1
unknown-key       model.loss_pixels = LabelCrossEntropy(use_sigmoid=True)
build             model.loss_samples = EnergyLoss(smooth=-1.0)
build             model.loss_samples = CalibrationLoss(divergence='kl')
preflight         model.loss_samples = CalibrationLoss(eps=-0.001)
unknown-key       model.noise = SobolNoise(scramble='yes')
build             model.test_cfg.mode = 'slide'; model.test_cfg.crop_size =
  [8, 8]; model.test_cfg.stride = [0, 0]
build             $D.type = 'CityscapesDataset'
unknown-key       $D.reduce_zero_label = True
build             $D.data_prefix = dict(img_path='annotations/train',
  seg_map_path='images/train')
build             $D.data_prefix = dict(img_dir='images/train',
  ann_dir='annotations/train')
unknown-key       $D.split = 'train.txt'
-                 val_dataloader.dataset.data_prefix.seg_map_path =
  'annotations/train'
preflight         $P[0] = LoadImageFromFile(imdecode_backend='pill')
different-meaning $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  Normalize(mean=[127.5, 127.5, 127.5], std=[127.5, 127.5, 127.5]),
  PackStochasticInputs()]
unregistered-type $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  DefaultFormatBundle(), PackStochasticInputs()]
build             $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  Pad(size=[16, 16], size_divisor=16), PackStochasticInputs()]
-                 $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  Resize(scale=[16, 16], scale_factor=2.0), PackStochasticInputs()]
preflight         $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  PackStochasticInputs(), PackStochasticInputs()]
preflight         $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  LoadAnnotations(), PackStochasticInputs()]
no-part           $P = [[LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  PackStochasticInputs()]]
unknown-key       train_dataloader.pipeline = [LoadCheckedImage(),
  LoadMultiAnnotations(draw=True), PackStochasticInputs()]
build             train_dataloader.shuffle = True
unknown-key       train_dataloader.workers_per_gpu = 4
wrong-scoring     val_dataloader.sampler.type = 'InfiniteSampler'
scored-in-part    $V[1].draw = True
wrong-step        $V = [LoadCheckedImage(), LoadMultiAnnotations(draw=False),
  RandomCrop(crop_size=8), PackStochasticInputs()]
build             $D.indices = 0
unknown-key       $D.filter_cfg = dict(filter_empty_gt=True)
declared-type     $D.serialize_data = 'yes'
idle-schedule     train_cfg = EpochBasedTrainLoop(max_epochs=10,
  val_interval=1)
unknown-key       train_cfg.train_cfg = dict(max_iters=8)
build             $S[0].iters = DROP; $S[0].iterations = 4
build             $S[0].lr = 0.0001
declared-type     $S = dict(calibration=4, generator=4)
build             $S[1].cycles = dict(discrminator=[1, 1])
unknown-key       val_cfg.interval = 2
declared-type     val_cfg.fp16 = 'yes'
unknown-key       test_cfg.mode = 'whole'
unknown-key       custom_hooks = [EMAHook(ema_typ='StochasticWeightAverage')]
-                 custom_hooks = [R1Hook(weight=1.0), R1Hook(weight=1.0)]
declared-type     custom_hooks = R1Hook(weight=1.0)
declared-type     custom_hooks[0].interval = '16'
best-score        $C.save_best = 'GED_3'; $C.rule = 'greater'
declared-type     $C.out_dir = 5
declared-type     $C.save_last = 'no'
no-part           default_hooks.interval = 100
unregistered-type default_hooks.logger.type = 'TextLoggerHook'
declared-type     default_hooks.logger.ignore_last = 'no'
-                 default_hooks.visualization =
  SegVisualizationHook(draw=True, interval=0)
unknown-key       param_scheduler[0].eta_min = 0.0001
unknown-key       param_scheduler[0].policy = 'step'
build             param_scheduler[0].param_name = 'lr'
declared-type     param_scheduler = [PolyLR(power='0.9', end=8,
  by_epoch=False)]
build             optim_wrapper.generator.optimizer.lr = [0.001]
build             optim_wrapper.generator.optimizer = SGD(lr=0.001,
  nesterov=True)
unknown-key       optim_wrapper.generator.lr = 0.001
unknown-key       optim_wrapper.generator.loss_scale = 'dynamic'
build             optim_wrapper.refiner = dict(optimizer=Adam(lr=0.001))
build             optim_wrapper.clip_grad = dict(max_norm=1.0)
unknown-key       optim_wrapper.generator.paramwise_cfg = dict(bias_lr_mul=2)
preflight         val_evaluator = [GEDMetric(num_samples=3),
  GEDMetric(num_samples=3)]
no-part           val_evaluator = [[GEDMetric(num_samples=3)]]
unknown-key       val_evaluator = GEDMetric(num_samples=3,
  iou_metrics=['mIoU'])
build             val_evaluator[0].classes = [1, 1]
declared-type     val_evaluator = IoUMetric(iou_metrics=['mIoU'],
  nan_to_num='-1')
unregistered-type val_evaluator = Evaluator(metrics=[GEDMetrik()])
preflight         test_evaluator = IoUMetric(iou_metrics=['mIoU'],
  format_only=True)
build             test_evaluator = CityscapesMetric(output_dir='x')
preflight         test_evaluator = FlipMetric()
read              custom_imports = ['mmcar']
read              custom_imports = dict(imports=['mmcar'],
  allow_failed_import=True)
build             env_cfg.mp_cfg = dict(mp_start_metod='fork')
declared-type     env_cfg.dist_cfg = 'nccl'
unregistered-type visualizer.type = 'SegLocalVisualiser'
unknown-key       visualizer.vis_backends =
  [TensorboardVisBackend(save_dirr='x')]
build             visualizer.save_dir = 5
-                 visualizer.alpha = 5.0
build             load_from = 'https//download.example.org/car.pth'
build             load_from = '/tmp'
-                 work_dir = 5
unknown-key       randomness.seeds = 3
old-key           seed = 42
old-key           cudnn_benchmark = False
old-key           lr_config = dict(policy='poly', power=0.9)
old-key           runner = IterBasedRunner(max_iters=8000)
old-key           evaluation = dict(interval=2000, metric='mIoU')
no-epochs         log_processor.by_epoch = True
unregistered-type model_wrapper_cfg.type = 'NetworkwiseDDP'
-                 $N.mean = [127.5]
-                 $N.mean = None
other-units       $N.mean = [-127.5, 127.5, 127.5]
other-units       $N.std = [127.5, 127.5, 2000.0]
build             optim_wrapper.generator.optimizer.betas = 0.5
no-sampler        train_dataloader.sampler = DROP
scored-in-part    val_dataloader.drop_last = True
no-part           visualizer.vis_backends = ['LocalVisBackend']
-                 custom_hooks = [EMAHook(momentum=0.001,
  update_buffers='yes')]
preflight         custom_hooks = [EMAHook(momentum=0.001, mometum=0.1)] ->
  mometum
different-meaning val_dataloader.dataset.metainfo.classes = ['cell',
  'background']
declared-type     val_dataloader.dataset.label_map = {'255': 1}
declared-type     param_scheduler[0].milestones = [None]
old-key           data = dict(samples_per_gpu=4, workers_per_gpu=2)
build             custom_hooks = [NetworkEMAHook(network='generator',
  momentum=0.999)]
idle-schedule     train_cfg = EpochBasedTrainLoop(max_epochs=9)
preflight         $P[2] = RandomFlip(prob=0.5)
best-score        train_cfg.val_begin = 10000; $C.save_best = 'GED_3'; $C.rule
  = 'less'
preflight         optim_wrapper.generator = DROP; optim_wrapper.discriminator
  = DROP; $S = [dict(iters=2, train=['calibration'])]; custom_hooks =
  [NetworkEMAHook(network='generator')]
unknown-key       model.auxiliary_head = FCNHead(in_channels=64, channels=16,
  num_classes=2)
unknown-key       model.backbone = ResNetV1c(depth=50)
declared-type     model.pretrained = 'open-mmlab://resnet50_v1c'
unknown-key       $F.type = 'SegNetCalibration' -> channels
unregistered-type $F.norm_cfg = BatchNorm()
build             $F.norm_cfg = GN(num_groups=8)
build             $F.residual = True
unknown-key       $G.noise_dim = 8
build             $G.temperature = 0
declared-type     $G.gumbel = True
build             $G = GumbelSampler()
preflight         model.discriminator.depth = 6
unknown-key       model.discriminator.norm_cfg = BN()
build             model.loss_pixels = CrossEntropyLoss(use_sigmoid=True)
build             model.loss_samples = [CrossEntropyLoss()]
preflight         model.loss_samples = [EnergyLoss(classes=[2])]
build             model.loss_samples = [CalibrationLoss(loss_weight=-5.0)]
preflight         model.loss_samples = [ELBOLoss()]
unregistered-type model.loss_adv = GANLoss(gan_type='vanilla')
unregistered-type model.noise = Sobol()
unknown-key       model.noise = NormalNoise(seed=1)
unknown-key       $H.noise = SobolNoise()
preflight         val_evaluator[0].num_samples = [16]
other-units       $N.std = [127.5, 0, 127.5]
-                 $N.bgr_to_rgb = True; $N.rgb_to_bgr = True
unlabelled-id     $N.size_divisor = 32; $N.seg_pad_val = 0
unknown-key       $N.pad_size_divisor = 32
build             $D.data_root = 'data/nowhere'
unknown-key       $D.classes = ['background', 'cell']
build             $D.img_suffix = '.jpg'
unlabelled-id     $D.ignore_index = 1
preflight         $P[1] = LoadAnnotations()
preflight         $P = [RandomFlip(prob=0.5), LoadCheckedImage(),
  LoadMultiAnnotations(draw=True), PackStochasticInputs()]
unknown-key       $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  Resize(img_scale=[32, 32], keep_ratio=False), PackStochasticInputs()]
different-meaning $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  Normalize(mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375],
  to_rgb=True), PackStochasticInputs()]
unregistered-type $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  DefaultFormatBundle(), Collect(keys=['img'])]
preflight         $P[0].color_type = 'grayscale' -> mean
build             $P = [LoadCheckedImage(), WindowIntensity(low=400,
  high=-1000), LoadMultiAnnotations(draw=True), PackStochasticInputs()]
wrong-step        $V = [LoadCheckedImage(), LoadMultiAnnotations(draw=False),
  CenterCrop(crop_size=8), PackStochasticInputs()]
preflight         $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True),
  RandomClassFlips(), PackStochasticInputs()]
wrong-scoring     val_dataloader.sampler = InfiniteSampler(shuffle=False)
unknown-key       train_dataloader.sampler = InfiniteSampler(shuffel=True)
scored-in-part    val_dataloader.batch_size = 3; val_dataloader.drop_last =
  True
incomplete-loop   val_evaluator = None
preflight         val_evaluator = [FlipMetric()]
idle-schedule     train_cfg = IterBasedTrainLoop(max_iters=8, val_interval=4)
build             $S[1].train = ['generater', 'discriminator']
build             $S[1].copy = dict(generator='calibration')
-                 optim_wrapper = OptimWrapper(optimizer=SGD(lr=0.01))
build             optim_wrapper.generator.optimizer.lr = '2e-4'
unknown-key       optim_wrapper.generator.clip_grad = dict(max_norm=1.0,
  norm=2)
build             param_scheduler = [PolyLR(eta_min=0.0001, power=0.9,
  begin=0, end=8)]
idle-schedule     param_scheduler = [CosineAnnealingLR(begin='phase',
  by_epoch=False)]
old-key           lr_config = dict(policy='poly', power=0.9, min_lr=0.0001,
  by_epoch=False)
build             custom_hooks = [NetworkEMAHook(momentum=0.999)]
-                 custom_hooks = [NetworkEMAHook(begin=10000)]
-                 model.discriminator = None; optim_wrapper.discriminator =
  DROP; $S[1].train = ['generator']
best-score        custom_hooks = [EarlyStoppingHook(monitor='mIoU',
  rule='greater')]
unregistered-type visualizer.vis_backends = [TensorboardBackend()]
build             load_from = 'work_dirs/nothing/iter_1.pth'
old-key           resume_from = 'iter_4.pth'
read              custom_imports.imports = ['mmcar', 'my_losses'] ->
  custom_imports
build             randomness.seed = 'fixed'
wrong-step        $V = [LoadCheckedImage(), CenterCrop(crop_size=8),
  LoadMultiAnnotations(draw=False), PackStochasticInputs()]
wrong-step        $V = [LoadCheckedImage(), Pad(size_divisor=32),
  LoadMultiAnnotations(draw=False), PackStochasticInputs()]
wrong-step        $E = [LoadCheckedImage(), LoadMultiAnnotations(draw=False),
  PadAll(size_divisor=32), PackStochasticInputs()]
wrong-step        $E = [LoadCheckedImage(), LoadMultiAnnotations(draw=False),
  CenterCrop(crop_size=8), PackStochasticInputs()]
wrong-step        $V = [LoadCheckedImage(), LoadMultiAnnotations(draw=False),
  PhotoMetricDistortion(), PackStochasticInputs()]
wrong-step        $P = [LoadCheckedImage(), LoadMultiAnnotations(draw=True,
  keep_all=True), Pad(size_divisor=32), PackStochasticInputs()]
preflight         $P = [PhotoMetricDistortion(), LoadCheckedImage(),
  LoadMultiAnnotations(draw=True), PackStochasticInputs()]
different-meaning $V = [LoadCheckedImage(), NormalizePercentiles(),
  LoadMultiAnnotations(draw=False), PackStochasticInputs()]
-                 $S = [dict(iters=4, train=['generator', 'discriminator']),
  dict(iters=4, train=['calibration'])]
random-weights    $S[0].iters = 0 -> calibration
random-weights    $S[1].train = ['generator']; optim_wrapper.discriminator =
  DROP; custom_hooks = None
-                 $S[0].iters = 0; $S[1].iters = 0
-                 param_scheduler = dict(generator=PolyLR(by_epoch=False,
  end=4))
-                 param_scheduler = [PolyLR(by_epoch=False, end=4)]
build             param_scheduler =
  dict(calibration=CosineAnnealingLR(by_epoch=False, end=4),
  generator=CosineAnnealingLR(by_epoch=False, begin='phase', end=3))
-                 param_scheduler[0].gamma = 0.0
odd-number        optim_wrapper.discriminator.optimizer.lr = 50
build             model.loss_pixels = LovaszLoss(loss_type='binary')
build             model.loss_pixels = DiceLoss(activate=False)
[quickstart()]
build             $G.net.backbone.base_channels = 32 -> generator.net
build             param_scheduler.generator.end = 700
preflight         $P[2].crop_size = 128
preflight         $P[1].keep_all = False
build             $F.decode_head.in_channels = 64 -> calibration
preflight         $F.decode_head.in_index = 7
build             $F.backbone.type = 'ResNetV1c'
build             optim_wrapper.discriminator =
  dict(optimizer=Adam(lr=0.0001))
build             test_dataloader.dataset.indices = 200
build             param_scheduler.generator.begin = 1300;
  param_scheduler.generator.end = 1000
random-weights    $S[0].iters = 0 -> calibration
[own_data(classes="('background', 'a', 'b')")]
class-number       -> num_classes
[own_data(on=255)]
wrong-step         -> label_map
[own_data(more=2)]
preflight          -> label_map
[own_data(deep=True)]
preflight          -> NormalizePercentiles
[own_data(more=2, classes="('background', 'a', 'b')", number=3)]
-                  -> classes
[own_data(splits=['train', 'val'])]
build              -> test_dataloader
[own_data(label_size=60)]
preflight          -> annotations
[own_data(sizes=[64, 80])]
-                 val_dataloader.batch_size = 4
[own_data()]
build             $D.ann_file = 'train.txt'
unknown-key       $P[4] = PadAll(crop_size=[64, 64])
[peer(name='ssn')]
build             model.rank = 0
build             optim_wrapper =
  dict(constructor='NetworkOptimWrapperConstructor',
  calibration=dict(optimizer=Adam(lr=0.001)))
unknown-key       model.loss_samples = [CalibrationLoss()]
[peer(name='prob-unet')]
odd-number        model.beta = -1.0
[peer(name='ensemble')]
build             model.num_members = 3 -> calibration_3
[peer(name='mc-dropout')]
build             model.dropout_after = ['backbone.layer4']
[peer(name='views')]
build             model.symmetries = 'rotations'
[peer(name='regions')]
build             $G.common = 2.0
[training_free()]
build             $H.black_box.config = 'my_config.py'
class-number      $H.num_classes = 3
build             $H.black_box.segmentor = EncoderDecoder()
declared-type     $H.black_box = 'my_config.py'
build             $H.black_box.checkpoint = '{folder}/stock_8.pth'
[on_black_box()]
random-weights    $H.black_box.checkpoint = None
preflight         $F.black_box_classes = 19
build             $F.residual = True; $F.class_map = [0, 2]
preflight         $H.black_box = CachedBlackBox(num_classes=2)
build             load_from = '{folder}/stock_8.pth'
"""
WRONG = read(TABLE)
