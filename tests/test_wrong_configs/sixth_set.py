"""A sixth set of unseen wrong configs, and what it led to.

The first list changes the small right config, the last one those of
`bases`: ``(base, changes, fragment, options of the base)``. A text of the
changes may name the ``{folder}`` of the base's data.
"""

from tests.test_wrong_configs.corpus import (
    DATA,
    DROP,
    HEAD,
    OPTIM,
    PHASES,
    F,
    G,
    one,
)

PIPE = f'{DATA}.pipeline'
VAL_PIPE = 'val_dataloader.dataset.pipeline'
TEST_PIPE = 'test_dataloader.dataset.pipeline'
LOAD = {'type': 'LoadCheckedImage'}
ONE = {'type': 'LoadMultiAnnotations', 'draw': True}
ALL = {'type': 'LoadMultiAnnotations', 'draw': False}
PACK = {'type': 'PackStochasticInputs'}
PAD = {'type': 'Pad', 'size_divisor': 32}
CROP = {'type': 'CenterCrop', 'crop_size': 8}
WINDOW = {'type': 'WindowIntensity', 'low': 0, 'high': 100}
PERCENTILES = {'type': 'NormalizePercentiles'}
POLY = {'type': 'PolyLR', 'by_epoch': False}
COSINE = {'type': 'CosineAnnealingLR', 'by_epoch': False}
THREE = "('background', 'a', 'b')"
TURNS = [
    {'iters': 4, 'train': ['generator', 'discriminator']},
    {'iters': 4, 'train': ['calibration']},
]
SIXTH_SET = [
    one('model.type', 'CARSegmenter', 'CARSegmenter'),
    one(
        'model.auxiliary_head',
        {
            'type': 'FCNHead',
            'in_channels': 64,
            'channels': 16,
            'num_classes': 2,
        },
    ),
    one('model.backbone', {'type': 'ResNetV1c', 'depth': 50}),
    one('model.pretrained', 'open-mmlab://resnet50_v1c'),
    one(f'{HEAD}.num_classes', 3),
    one(f'{HEAD}.num_classes', 1),
    one(f'{HEAD}.num_classes', '2'),
    one(f'{HEAD}.loss_decode', {'type': 'CrossEntropyLoss'}),
    one(f'{HEAD}.ignore_index', 0),
    one(f'{HEAD}.temperature', [1.0, 1.0, 1.0]),
    one(f'{F}.type', 'SegNetCalibration', 'channels'),
    one(f'{F}.in_channels', 1),
    one(f'{F}.norm_cfg', {'type': 'BatchNorm'}, 'BatchNorm'),
    one(f'{F}.norm_cfg', {'type': 'GN', 'num_groups': 8}, 'num_groups'),
    one(f'{F}.dropout', 10),
    one(f'{F}.residual', True, 'black_box'),
    one(f'{F}.num_block', 3),
    one(f'{G}.noise_dim', 8),
    one(f'{G}.noise_size', 0),
    one(f'{G}.upsample', 'bilinear'),
    one(f'{G}.temperature', 0),
    one(f'{G}.gumbel', True),
    one(f'{G}.gumbel', {'correlation_length': -8.0}, 'correlation_length'),
    one(f'{G}.type', 'GumbelSampler', 'noise_size'),
    one(G, {'type': 'GumbelSampler'}),
    one('model.discriminator.in_channels', 1),
    one('model.discriminator', None),
    one('model.discriminator.depth', 6),
    one('model.discriminator.norm_cfg', {'type': 'BN'}),
    one(
        'model.loss_pixels',
        {'type': 'CrossEntropyLoss', 'use_sigmoid': True},
        'use_sigmoid',
    ),
    one(
        'model.loss_pixels',
        {'type': 'LabelCrossEntropy', 'class_weight': [1.0, 2.0, 2.0]},
        'class_weight',
    ),
    (
        'Dice of MMSeg takes hard labels',
        {
            'model.loss_pixels': {'type': 'DiceLoss'},
            'model.train_cfg.soft_labels': True,
            f'{PIPE}[1].keep_all': True,
        },
        'soft_labels',
    ),
    one(
        'model.loss_samples',
        {'type': 'CalibrationLoss', 'divergence': 'kl'},
        'divergence',
    ),
    one('model.loss_samples', [{'type': 'CrossEntropyLoss'}]),
    one(
        'model.loss_samples',
        [{'type': 'EnergyLoss', 'classes': [2]}],
        'classes',
    ),
    one(
        'model.loss_samples',
        [{'type': 'CalibrationLoss', 'loss_weight': -5.0}],
        'loss_weight',
    ),
    one('model.loss_samples', [{'type': 'ELBOLoss'}], 'posterior'),
    one('model.loss_adv', {'type': 'AdversarialLoss', 'mode': 'wgan'}, 'mode'),
    one('model.loss_adv', {'type': 'GANLoss', 'gan_type': 'vanilla'}),
    one('model.noise', {'type': 'Sobol'}),
    one('model.noise', {'type': 'NormalNoise', 'seed': 1}, 'seed'),
    one(f'{HEAD}.noise', {'type': 'SobolNoise'}),
    one('model.train_cfg.num_samples', 0),
    one('model.train_cfg.samples_per_chunk', 1),
    one('val_evaluator[0].num_samples', [16]),
    one('model.test_cfg.mode', 'slide', 'crop_size'),
    (
        'gaps between the windows',
        {
            'model.test_cfg.mode': 'slide',
            'model.test_cfg.crop_size': [8, 8],
            'model.test_cfg.stride': [12, 12],
        },
        'stride',
    ),
    one('model.train_cfg.soft_labels', True, 'keep_all'),
    (
        'for images of 0 to 1; these are 0 to 255',
        {
            'model.data_preprocessor.mean': [0.485, 0.456, 0.406],
            'model.data_preprocessor.std': [0.229, 0.224, 0.225],
        },
        'mean',
    ),
    one('model.data_preprocessor.std', [127.5, 0, 127.5]),
    (
        'contradiction',
        {
            'model.data_preprocessor.bgr_to_rgb': True,
            'model.data_preprocessor.rgb_to_bgr': True,
        },
        'bgr_to_rgb',
    ),
    (
        'padding would be learnt as background',
        {
            'model.data_preprocessor.size_divisor': 32,
            'model.data_preprocessor.seg_pad_val': 0,
        },
        'seg_pad_val',
    ),
    one('model.data_preprocessor.pad_size_divisor', 32),
    one(f'{DATA}.data_root', 'data/nowhere', 'data/nowhere'),
    one(
        f'{DATA}.data_prefix',
        {'img_dir': 'images/train', 'ann_dir': 'annotations/train'},
    ),
    one(
        'val_dataloader.dataset.data_prefix.seg_map_path', 'annotations/train'
    ),
    one(f'{DATA}.classes', ['background', 'cell']),
    one('val_dataloader.dataset.metainfo.classes', ['cell', 'background']),
    one(f'{DATA}.reduce_zero_label', True),
    one(f'{DATA}.img_suffix', '.jpg', 'jpg'),
    one(f'{DATA}.ignore_index', 1),
    one(f'{PIPE}[1]', {'type': 'LoadAnnotations'}, 'LoadAnnotations'),
    one('val_dataloader.dataset.pipeline[1].draw', True),
    one(PIPE, [LOAD, ONE], 'PackStochasticInputs'),
    one(
        PIPE,
        [{'type': 'RandomFlip', 'prob': 0.5}, LOAD, ONE, PACK],
        'RandomFlip',
    ),
    one(
        PIPE,
        [
            LOAD,
            ONE,
            {'type': 'Resize', 'img_scale': [32, 32], 'keep_ratio': False},
            PACK,
        ],
        'img_scale',
    ),
    one(
        PIPE,
        [
            LOAD,
            ONE,
            {
                'type': 'Normalize',
                'mean': [123.675, 116.28, 103.53],
                'std': [58.395, 57.12, 57.375],
                'to_rgb': True,
            },
            PACK,
        ],
        'Normalize',
    ),
    one(
        PIPE,
        [
            LOAD,
            ONE,
            {'type': 'DefaultFormatBundle'},
            {'type': 'Collect', 'keys': ['img']},
        ],
        'DefaultFormatBundle',
    ),
    one(
        VAL_PIPE,
        [LOAD, ALL, {'type': 'RandomCrop', 'crop_size': [8, 8]}, PACK],
        'RandomCrop',
    ),
    one(
        PIPE,
        [
            LOAD,
            ONE,
            {'type': 'RandomFlip', 'prob': 0.5, 'direction': 'horizonal'},
            PACK,
        ],
        'direction',
    ),
    one(f'{PIPE}[0].color_type', 'grayscale', 'mean'),
    one(
        PIPE,
        [
            LOAD,
            {'type': 'WindowIntensity', 'low': 400, 'high': -1000},
            ONE,
            PACK,
        ],
        'high',
    ),
    one(
        VAL_PIPE,
        [LOAD, ALL, {'type': 'CenterCrop', 'crop_size': 8}, PACK],
        'CenterCrop',
    ),
    one(
        PIPE,
        [LOAD, ONE, {'type': 'RandomClassFlips'}, PACK],
        'RandomClassFlips',
    ),
    one('train_dataloader.samples_per_gpu', 2),
    one('train_dataloader.persistent_workers', True),
    one(
        'val_dataloader.sampler', {'type': 'InfiniteSampler', 'shuffle': False}
    ),
    one(
        'train_dataloader.sampler',
        {'type': 'InfiniteSampler', 'shuffel': True},
        'shuffel',
    ),
    (
        'one of four images would not be scored',
        {'val_dataloader.batch_size': 3, 'val_dataloader.drop_last': True},
        'drop_last',
    ),
    one(
        'val_evaluator',
        [{'type': 'IoUMetric', 'iou_metrics': ['IoU']}],
        'iou_metrics',
    ),
    one('evaluation', {'interval': 4, 'metric': 'mIoU'}),
    one('val_evaluator', None),
    one('val_evaluator', [{'type': 'FlipMetric'}], 'class_flips'),
    one('val_evaluator[0].classes', ['cels']),
    one(
        'train_cfg',
        {'type': 'IterBasedTrainLoop', 'max_iters': 8, 'val_interval': 4},
        'AlternatingTrainLoop',
    ),
    one('train_cfg.max_iters', 100),
    one('train_cfg.phases[0].train', 'calibration'),
    one(
        'train_cfg.phases[1].train',
        ['generater', 'discriminator'],
        'generater',
    ),
    one('train_cfg.phases[1].cycles', {'discriminator': [0, 5]}),
    one('train_cfg.val_interval', 0),
    one('train_cfg.phases[1].copy', {'generator': 'calibration'}),
    one(
        'optim_wrapper',
        {'type': 'OptimWrapper', 'optimizer': {'type': 'SGD', 'lr': 0.01}},
    ),
    one('optim_wrapper.generator.optimizer.lr', '2e-4'),
    one('optim_wrapper.generator.optimizer.betas', [0.5]),
    one('optim_wrapper.generator.clip_grad', {'max_norm': 1.0, 'norm': 2}),
    one(
        'optim_wrapper.generator.paramwise_cfg',
        {'custom_keys': {'backbone': {'lr_mult': 0.1}}},
        'custom_keys',
    ),
    one(
        'param_scheduler',
        [
            {
                'type': 'PolyLR',
                'eta_min': 0.0001,
                'power': 0.9,
                'begin': 0,
                'end': 8,
            }
        ],
        'by_epoch',
    ),
    one(
        'param_scheduler',
        [{'type': 'CosineAnnealingLR', 'begin': 'phase', 'by_epoch': False}],
        'end',
    ),
    one(
        'lr_config',
        {'policy': 'poly', 'power': 0.9, 'min_lr': 0.0001, 'by_epoch': False},
    ),
    one('default_hooks.checkpoint.save_best', 'mIoU'),
    (
        'GED is better when smaller: keeps the worst',
        {
            'default_hooks.checkpoint.save_best': 'GED_3',
            'default_hooks.checkpoint.rule': 'greater',
        },
        'rule',
    ),
    one('default_hooks.checkpoint.by_epoch', True),
    one(
        'custom_hooks',
        [{'type': 'NetworkEMAHook', 'momentum': 0.999}],
        'momentum',
    ),
    one('custom_hooks', [{'type': 'NetworkEMAHook', 'begin': 10000}], 'begin'),
    (
        'a penalty on a discriminator that is not there',
        {
            'model.discriminator': None,
            'optim_wrapper.discriminator': DROP,
            'train_cfg.phases[1].train': ['generator'],
        },
        'custom_hooks',
    ),
    one(
        'custom_hooks',
        [{'type': 'EarlyStoppingHook', 'monitor': 'mIoU', 'rule': 'greater'}],
        'monitor',
    ),
    one(
        'visualizer.vis_backends',
        [{'type': 'TensorboardBackend'}],
        'TensorboardBackend',
    ),
    one('load_from', 'work_dirs/nothing/iter_1.pth', 'iter_1.pth'),
    one('resume_from', 'iter_4.pth'),
    one('custom_imports.imports', ['mmcar', 'my_losses'], 'custom_imports'),
    one('randomness.seed', 'fixed'),
]
#: What came to mind while those were mended.
SIBLINGS = [
    one(VAL_PIPE, [LOAD, CROP, ALL, PACK], 'pipeline[1] (CenterCrop)'),
    one(VAL_PIPE, [LOAD, PAD, ALL, PACK], 'pipeline[1] (Pad)'),
    one(TEST_PIPE, [LOAD, ALL, {**PAD, 'type': 'PadAll'}, PACK], '(PadAll)'),
    one(TEST_PIPE, [LOAD, ALL, CROP, PACK], 'pipeline[2] (CenterCrop)'),
    one(VAL_PIPE, [LOAD, ALL, {'type': 'PhotoMetricDistortion'}, PACK]),
    one(PIPE, [LOAD, {**ONE, 'keep_all': True}, PAD, PACK], '(Pad)'),
    one(PIPE, [{'type': 'PhotoMetricDistortion'}, LOAD, ONE, PACK], "'img'"),
    one(PIPE, [LOAD, WINDOW, ONE, PACK], 'pipeline'),
    one(VAL_PIPE, [LOAD, PERCENTILES, ALL, PACK], 'NormalizePercentiles'),
    one(PHASES, TURNS, 'calibration'),
    one(f'{PHASES}[0].iters', 0, 'calibration'),
    (
        'a generator against a discriminator that never learns',
        {
            f'{PHASES}[1].train': ['generator'],
            f'{OPTIM}.discriminator': DROP,
            'custom_hooks': None,
        },
        'discriminator',
    ),
    (
        'phases of nothing',
        {f'{PHASES}[0].iters': 0, f'{PHASES}[1].iters': 0},
        'train_cfg.phases',
    ),
    one('param_scheduler', {'generator': {**POLY, 'end': 4}}, 'generator.end'),
    one('param_scheduler', [{**POLY, 'end': 4}], 'param_scheduler[0].end'),
    one(
        'param_scheduler',
        {
            'calibration': {**COSINE, 'end': 4},
            'generator': {**COSINE, 'begin': 'phase', 'end': 3},
        },
        'param_scheduler.generator.end=3',
    ),
    one('param_scheduler[0].gamma', 0.0),
    one('param_scheduler[0].milestones', 200, 'expected a list'),
    one(f'{OPTIM}.generator.optimizer.betas', 0.9, 'expected 2 numbers'),
    one(f'{OPTIM}.discriminator.optimizer.lr', 50),
    one('model.loss_pixels', {'type': 'LovaszLoss', 'loss_type': 'binary'}),
    one('model.loss_pixels', {'type': 'DiceLoss', 'activate': False}),
    one('model.loss_samples', [{'type': 'EnergyLoss', 'classes': [0]}]),
    one('val_evaluator', None, 'val_evaluator missing'),
]
OTHER_BASES = [
    (
        'quickstart',
        {f'{G}.net.backbone.base_channels': 32},
        'generator.net',
        {},
    ),
    (
        'quickstart',
        {'param_scheduler.generator.end': 700},
        'param_scheduler.generator.end',
        {},
    ),
    ('quickstart', {f'{PIPE}[2].crop_size': 128}, 'crop', {}),
    ('quickstart', {f'{PIPE}[1].keep_all': False}, 'keep_all', {}),
    (
        'quickstart',
        {f'{F}.decode_head.in_channels': 64},
        'calibration do not fit',
        {},
    ),
    ('quickstart', {f'{F}.decode_head.in_index': 7}, 'in_index', {}),
    ('quickstart', {f'{F}.backbone.type': 'ResNetV1c'}, 'base_channels', {}),
    (
        'quickstart',
        {
            'optim_wrapper.discriminator': {
                'optimizer': {'type': 'Adam', 'lr': 0.0001}
            }
        },
        'discriminator',
        {},
    ),
    ('quickstart', {'test_dataloader.dataset.indices': 200}, 'indices', {}),
    (
        'quickstart',
        {
            'param_scheduler.generator.begin': 1300,
            'param_scheduler.generator.end': 1000,
        },
        'begin',
        {},
    ),
    ('own_data', {}, 'num_classes', {'classes': THREE}),
    ('own_data', {}, 'label_map', {'on': 255}),
    ('own_data', {}, 'label_map', {'more': 2}),
    ('own_data', {}, 'NormalizePercentiles', {'deep': True}),
    ('own_data', {}, 'classes', {'more': 2, 'classes': THREE, 'number': 3}),
    ('own_data', {}, 'test_dataloader', {'splits': ('train', 'val')}),
    ('own_data', {}, 'annotations', {'label_size': 60}),
    (
        'own_data',
        {'val_dataloader.batch_size': 4},
        'batch_size',
        {'sizes': (64, 80)},
    ),
    ('own_data', {f'{DATA}.ann_file': 'train.txt'}, 'train.txt', {}),
    (
        'own_data',
        {f'{PIPE}[4]': {'type': 'PadAll', 'crop_size': [64, 64]}},
        'crop_size',
        {},
    ),
    ('peer', {'model.rank': 0}, 'rank', {'name': 'ssn'}),
    (
        'peer',
        {
            'optim_wrapper': {
                'constructor': 'NetworkOptimWrapperConstructor',
                'calibration': {'optimizer': {'type': 'Adam', 'lr': 0.001}},
            }
        },
        'optim_wrapper',
        {'name': 'ssn'},
    ),
    (
        'peer',
        {'model.loss_samples': [{'type': 'CalibrationLoss'}]},
        'loss_samples',
        {'name': 'ssn'},
    ),
    ('peer', {'model.beta': -1.0}, 'beta', {'name': 'prob-unet'}),
    ('peer', {'model.num_members': 3}, 'calibration_3', {'name': 'ensemble'}),
    (
        'peer',
        {'model.dropout_after': ['backbone.layer4']},
        'backbone.layer4',
        {'name': 'mc-dropout'},
    ),
    (
        'peer',
        {'model.symmetries': 'rotations'},
        'symmetries',
        {'name': 'views'},
    ),
    ('peer', {f'{G}.common': 2.0}, 'common', {'name': 'regions'}),
    (
        'training_free',
        {f'{HEAD}.black_box.config': 'my_config.py'},
        'my_config.py',
        {},
    ),
    ('training_free', {f'{HEAD}.num_classes': 3}, 'num_classes', {}),
    (
        'training_free',
        {f'{HEAD}.black_box.segmentor': {'type': 'EncoderDecoder'}},
        'segmentor',
        {},
    ),
    ('training_free', {f'{HEAD}.black_box': 'my_config.py'}, 'black_box', {}),
    ('on_black_box', {f'{HEAD}.black_box.checkpoint': None}, 'checkpoint', {}),
    ('on_black_box', {f'{F}.black_box_classes': 19}, 'black_box_classes', {}),
    (
        'on_black_box',
        {f'{F}.residual': True, f'{F}.class_map': [0, 2]},
        'class_map',
        {},
    ),
    (
        'on_black_box',
        {f'{HEAD}.black_box': {'type': 'CachedBlackBox', 'num_classes': 2}},
        'LoadBlackBoxProbs',
        {},
    ),
    ('on_black_box', {'load_from': '{folder}/stock_8.pth'}, 'load_from', {}),
    (
        'training_free',
        {f'{HEAD}.black_box.checkpoint': '{folder}/stock_8.pth'},
        'stock_8.pth',
        {},
    ),
    (
        'quickstart',
        {f'{PHASES}[0].iters': 0},
        'calibration',
        {},
    ),
]
