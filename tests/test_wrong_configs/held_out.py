"""Wrong configs that were written after all others were found."""

from tests.test_wrong_configs.corpus import (
    DATA,
    HEAD,
    OPTIM,
    PHASES,
    TRAIN,
    F,
    G,
    one,
)
from tests.test_wrong_configs.unseen import PIPELINE, SCHEDULER, step

LR = {'by_epoch': False}
#: The model.
MODEL = [
    one(f'{G}.noise_size', [4]),
    one(f'{G}.activation', 'relu'),
    one(f'{HEAD}.temperature', {'generator': 1.0}),
    one(f'{F}.dropout', 2.0),
    one(f'{F}.norm_cfg', {'typ': 'BN'}, 'norm_cfg'),
    one('model.discriminator.base_channels', -4),
    one('model.loss_samples', [{'type': 'CalibrationLoss'}, 'EnergyLoss']),
    one(
        'model.loss_samples',
        {'type': 'CalibrationLoss', 'loss_weight': '1.0'},
        'loss_weight',
    ),
    one(
        'model.loss_pixels',
        {'type': 'LabelCrossEntropy', 'class_weight': [1.0]},
        'class_weight',
    ),
    one('model.loss_adv', {'type': 'AdversarialLoss', 'mode': 'wgan'}, 'mode'),
    one('model.test_cfg.stride', [4, 4]),
    one('model.test_cfg.crop_size', [8, 8]),
    one('model.data_preprocessor.size', [32, 32]),
    one('model.data_preprocessor.test_cfg', {'size_divider': 16}),
    one('model.noise', {'type': 'SobolNoise', 'seed': 3}, 'seed'),
]
#: Data.
DATA_SETS = [
    one(f'{PIPELINE}[1].keep_all', 'both'),
    step('RandomCrop', 'cat_max_ratio', crop_size=[8, 8], cat_max_ratio=75.0),
    step('RandomCrop', 'crop_size', crop_size=[0, 0]),
    step('RandomFlip', 'prob', prob='0.5'),
    step('RandomFlip', 'prob', prob=-0.5),
    step('Resize', 'scale', scale=[0, 0]),
    step('WindowIntensity', 'WindowIntensity', low=400, high=-1000),
    step('NormalizePercentiles', 'upper', lower=99.5, upper=0.5),
    step('PadAll', 'size', size=[8]),
    step('RandomClassFlip', 'RandomClassFlips'),
    one(f'{TRAIN}.drop_last', 'no'),
    one(f'{TRAIN}.prefetch_factor', 2),
    one(f'{TRAIN}.pin_memory', 'yes'),
    one(f'{TRAIN}.sampler.batch_size', 2),
    one(f'{TRAIN}.sampler', {'type': 'WeightedRandomSampler'}, 'sampler'),
    one(f'{DATA}.metainfo.classes', {'background': 0, 'cell': 1}),
    one(f'{DATA}.metainfo.palette', [[0, 0, 0], [300, 0, 0]]),
    one(f'{DATA}.metainfo.class_flips', [[0, 1, 1.5]], 'flip'),
    one(f'{DATA}.metainfo.class_flips', [[0, 1]], 'flip'),
    one(f'{DATA}.ignore_index', -1),
    one(f'{DATA}.data_prefix.seg_map_path', 5),
    one(f'{DATA}.ann_file', 5),
    one(f'{DATA}.seg_map_suffix', '_label.png'),
    one(f'{DATA}.key_prefix', 5),
    one(f'{DATA}.indices', [0, 99]),
]
#: Running.
RUNNING = [
    one(f'{PHASES}[0].train', ['F'], 'phases[0].train'),
    one(f'{PHASES}[1].cycles', {'discriminator': ['1', '1']}, 'cycles'),
    one('train_cfg.by_epoch', True),
    one('custom_hooks[0]', {'type': 'NetworkEMAHook', 'momentum': 0}, 'mome'),
    one(
        'custom_hooks[0]',
        {'type': 'NetworkEMAHook', 'network': ['generator']},
        'network',
    ),
    one('custom_hooks[0].weight', None),
    one('default_hooks.checkpoint.interval', 1.5),
    one('default_hooks.checkpoint.save_best', True),
    one('default_hooks.logger.interval', None),
    one('default_hooks.sampler_seed.type', 'DistSamplerSeed', 'sampler_seed'),
    one(f'{SCHEDULER}.begin', -1),
    one(f'{SCHEDULER}.gamma', [0.5]),
    one(
        'param_scheduler',
        [{'type': 'LinearLR', 'start_factor': 2.0, 'end': 4, **LR}],
        'start_factor',
    ),
    one(
        'param_scheduler',
        [{'type': 'CosineAnnealingLR', 'T_max': 'all', **LR}],
        'T_max',
    ),
    one(
        'param_scheduler',
        [{'type': 'MultiStepLR', 'milestones': [2]}],
        'by_epoch',
    ),
    one(f'{OPTIM}.generator.optimizer.eps', '1e-8'),
    one(f'{OPTIM}.generator.optimizer.amsgrad', 'yes'),
    one(f'{OPTIM}.generator.optimizer.momentum', 0.9),
    one(f'{OPTIM}.generator.clip_grad', {'type': 'val', 'clip_value': 1}),
    one(f'{OPTIM}.constructor', 'DefaultOptimWrapperConstructor'),
]
#: Scores and surroundings.
AROUND = [
    one('val_evaluator[0].distance', 'dice'),
    one('val_evaluator[0].num_samples', [3, '16']),
    one('test_evaluator', {'type': 'HMIoUMetric', 'num_samples': 0}, 'num_sa'),
    one('test_evaluator', {'type': 'CalibrationMetric', 'num_bins': '15'}),
    one(
        'test_evaluator',
        {'type': 'IoUMetric', 'iou_metrics': ['mIoU'], 'ignore_index': 0},
        'ignore_index',
    ),
    one('log_processor.window_size', 0),
    one('env_cfg.mp_cfg', {'opencv_num_threads': '0'}, 'opencv_num_threads'),
    one('env_cfg.resource_limit', 'max'),
    one('randomness.seed', '42'),
    one('randomness.diff_rank_seed', 'yes'),
    one('custom_imports', {'import': ['mmcar']}),
    one('load_from', 5),
    one('default_scope', 'mmdet'),
    one('sync_bn', True),
]
HELD_OUT = [*MODEL, *DATA_SETS, *RUNNING, *AROUND]
