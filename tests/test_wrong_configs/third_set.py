"""A third set of wrong configs: habits and leftovers of MMSeg's users."""

from typing import Any

from tests.test_wrong_configs.corpus import (
    DATA,
    DROP,
    HEAD,
    OPTIM,
    PHASES,
    TRAIN,
    VAL,
    F,
    G,
    one,
    renamed,
)
from tests.test_wrong_configs.unseen import (
    LOAD,
    PACK,
    PIPELINE,
    SCHEDULER,
    step,
)

GED = {'type': 'GEDMetric', 'num_samples': 3}
R1 = {'type': 'R1Hook', 'weight': 1.0}
LOAD_ALL = [LOAD[0], {'type': 'LoadMultiAnnotations', 'draw': False}]
PREPROCESSOR = 'model.data_preprocessor'
UNET = {'type': 'UNet', 'base_channels': 4, 'norm_cfg': {'type': 'BN'}}
FCN = {
    'type': 'FCNHead',
    'in_channels': 4,
    'in_index': 4,
    'channels': 4,
    'num_convs': 1,
    'concat_input': False,
    'norm_cfg': {'type': 'BN'},
}


def wrapped(name: str, fragment: str, **parts: Any):
    """A calibration net of MMSeg's parts, some of them wrong."""
    net = {'type': 'MMSegCalibration', 'backbone': UNET, 'decode_head': FCN}
    net = {**net, **parts}
    left = {key: part for key, part in net.items() if part is not DROP}
    return name, {F: left}, fragment


#: Parts of other models, misplaced settings.
MODEL = [
    one('model.type', 'EncoderDecoder', 'EncoderDecoder'),
    one('model.auxiliary_head', {'type': 'FCNHead', 'in_channels': 1024}),
    one(f'{PREPROCESSOR}.std', DROP),
    (
        'mean and std for images of 0..1',
        {
            f'{PREPROCESSOR}.mean': [0.485, 0.456, 0.406],
            f'{PREPROCESSOR}.std': [0.229, 0.224, 0.225],
        },
        'data_preprocessor',
    ),
    one(f'{PREPROCESSOR}.batch_augments', 'mixup'),
    one('model.test_cfg.samples', 16, 'test_cfg.samples'),
    one('model.test_cfg.threshold', 0.3),
    one('model.num_classes', 2),
    one(f'{HEAD}.num_samples', 16),
    one(f'{HEAD}.noise_size', 8),
    one(f'{HEAD}.dropout_ratio', 0.1),
    one(f'{HEAD}.sampler', {'type': 'OHEMPixelSampler'}),
    one(f'{F}.backbone', {'type': 'ResNet', 'depth': 18}),
    wrapped(
        'MMSeg head of other channels',
        'calibration',
        decode_head={**FCN, 'in_channels': 64},
    ),
    wrapped(
        'MMSeg head of other classes',
        'num_classes',
        decode_head={**FCN, 'num_classes': 19},
    ),
    wrapped(
        'MMSeg head of a missing level',
        'calibration',
        decode_head={**FCN, 'in_index': 7},
    ),
    wrapped(
        'MMSeg backbone of no depth',
        'depth',
        backbone={'type': 'ResNetV1c', 'depth': 51},
    ),
    wrapped('MMSeg net without head', 'calibration', decode_head=DROP),
    one(f'{G}.film', 'scale'),
    one(f'{G}.upsample', 'bilinear'),
    one(f'{G}.gumbel', {'correlation': 4}, 'correlation'),
    one(f'{G}.gumbel', {'correlation_length': -3}, 'correlation_length'),
    one(f'{G}.type', 'GumbelSampler', 'noise_size'),
    one(f'{G}.temperature', -0.1),
    one(f'{G}.temperature', '0.05'),
    one(
        'model.discriminator',
        {'type': 'AuthorsDiscriminator', 'image_size': [128, 128]},
        'image_size',
    ),
    one('model.discriminator.in_channels', 1),
    one(
        'model.loss_adv',
        {'type': 'AdversarialLoss', 'loss_weight': [1.0]},
        'loss_weight',
    ),
    one(
        'model.loss_pixels',
        {'type': 'LabelCrossEntropy', 'use_sigmoid': True},
        'use_sigmoid',
    ),
    one(
        'model.loss_samples',
        {'type': 'EnergyLoss', 'classes': ['cell']},
        'classes',
    ),
    one(
        'model.loss_samples', {'type': 'EnergyLoss', 'smooth': -1.0}, 'smooth'
    ),
    one(
        'model.loss_samples',
        {'type': 'CalibrationLoss', 'divergence': 'kl'},
        'divergence',
    ),
    one(
        'model.loss_samples', {'type': 'CalibrationLoss', 'eps': -0.001}, 'eps'
    ),
    one('model.noise', {'type': 'SobolNoise', 'scramble': 'yes'}, 'scramble'),
    (
        'windows that never move',
        {
            'model.test_cfg.mode': 'slide',
            'model.test_cfg.crop_size': [8, 8],
            'model.test_cfg.stride': [0, 0],
        },
        'stride',
    ),
]
#: Leftovers of other data sets, training transforms in validation.
DATA_SETS = [
    one(f'{DATA}.type', 'CityscapesDataset', 'train_dataloader'),
    one(f'{DATA}.reduce_zero_label', True),
    (
        'images and labels swapped',
        {
            f'{DATA}.data_prefix': {
                'img_path': 'annotations/train',
                'seg_map_path': 'images/train',
            }
        },
        'annotations/train',
    ),
    one(
        f'{DATA}.data_prefix',
        {'img_dir': 'images/train', 'ann_dir': 'annotations/train'},
        'img_dir',
    ),
    one(f'{DATA}.split', 'train.txt'),
    one(f'{VAL}.dataset.data_prefix.seg_map_path', 'annotations/train'),
    one(
        f'{PIPELINE}[0]',
        {'type': 'LoadImageFromFile', 'imdecode_backend': 'pill'},
        'imdecode_backend',
    ),
    step('Normalize', 'Normalize', mean=[127.5] * 3, std=[127.5] * 3),
    step('DefaultFormatBundle', 'DefaultFormatBundle'),
    step('Pad', 'size_divisor', size=[16, 16], size_divisor=16),
    step('RandomCrop', 'crop_size', crop_size=-8),
    step('Resize', 'scale_factor', scale=[16, 16], scale_factor=2.0),
    step('RandomRotate', 'prob', prob=50, degree=10),
    step('PackStochasticInputs', 'pipeline[2]'),
    step('LoadAnnotations', 'LoadAnnotations'),
    step('WindowIntensity', 'low', low='-1000', high=400),
    step('NormalizePercentiles', 'upper', lower=0.5, upper=150.0),
    step(
        'RandomFlip', 'RandomFlip', prob=[0.5, 0.3], direction=['horizontal']
    ),
    one(PIPELINE, [[*LOAD, PACK]]),
    one(f'{TRAIN}.pipeline', [*LOAD, PACK], 'train_dataloader.pipeline'),
    one(f'{TRAIN}.shuffle', True),
    one(f'{TRAIN}.workers_per_gpu', 4),
    one(f'{VAL}.sampler.type', 'InfiniteSampler', 'sampler'),
    one(f'{VAL}.dataset.pipeline[1].draw', True),
    one(
        f'{VAL}.dataset.pipeline',
        [*LOAD_ALL, {'type': 'RandomCrop', 'crop_size': 8}, PACK],
        'RandomCrop',
    ),
    one(f'{DATA}.indices', 0),
    one(f'{DATA}.filter_cfg', {'filter_empty_gt': True}),
    one(f'{DATA}.serialize_data', 'yes'),
]
#: Loops, hooks, schedulers, optimisers.
RUNNING = [
    one('train_cfg.max_iters', 8000),
    one(
        'train_cfg',
        {'type': 'EpochBasedTrainLoop', 'max_epochs': 10, 'val_interval': 1},
    ),
    one('train_cfg.train_cfg', {'max_iters': 8}, 'train_cfg.train_cfg'),
    ('iterations', renamed(f'{PHASES}[0].iters', 'iterations', 4), 'phases[0'),
    one(f'{PHASES}[0].lr', 1e-4, "unknown keys ['lr']"),
    one(PHASES, {'calibration': 4, 'generator': 4}),
    one(f'{PHASES}[1].cycles', {'discrminator': [1, 1]}, 'discrminator'),
    one('val_cfg.interval', 2, 'val_cfg.interval'),
    one('val_cfg.fp16', 'yes'),
    one('test_cfg.mode', 'whole', 'test_cfg.mode'),
    one(
        'custom_hooks',
        [{'type': 'EMAHook', 'ema_typ': 'StochasticWeightAverage'}],
        'ema_typ',
    ),
    one('custom_hooks', [R1, R1]),
    one('custom_hooks', R1),
    one('custom_hooks[0].interval', '16'),
    (
        'the worst checkpoint is kept',
        {
            'default_hooks.checkpoint.save_best': 'GED_3',
            'default_hooks.checkpoint.rule': 'greater',
        },
        'rule',
    ),
    one('default_hooks.checkpoint.out_dir', 5),
    one('default_hooks.checkpoint.save_last', 'no'),
    one('default_hooks.interval', 100, 'default_hooks.interval'),
    one('default_hooks.logger.type', 'TextLoggerHook', 'TextLoggerHook'),
    one('default_hooks.logger.ignore_last', 'no'),
    one(
        'default_hooks.visualization',
        {'type': 'SegVisualizationHook', 'draw': True, 'interval': 0},
        'interval',
    ),
    one(f'{SCHEDULER}.eta_min', 1e-4),
    one(f'{SCHEDULER}.policy', 'step'),
    one(f'{SCHEDULER}.param_name', 'lr'),
    one(
        'param_scheduler',
        [{'type': 'PolyLR', 'power': '0.9', 'end': 8, 'by_epoch': False}],
        'power',
    ),
    one(f'{OPTIM}.generator.optimizer.lr', [1e-3]),
    one(
        f'{OPTIM}.generator.optimizer',
        {'type': 'SGD', 'lr': 1e-3, 'nesterov': True},
        'nesterov',
    ),
    one(f'{OPTIM}.generator.lr', 1e-3, 'generator.lr'),
    one(f'{OPTIM}.generator.loss_scale', 'dynamic'),
    one(f'{OPTIM}.refiner', {'optimizer': {'type': 'Adam', 'lr': 1e-3}}),
    one(f'{OPTIM}.clip_grad', {'max_norm': 1.0}),
    one(f'{OPTIM}.generator.paramwise_cfg', {'bias_lr_mul': 2}, 'bias_lr_mul'),
    one(
        f'{OPTIM}.generator.paramwise_cfg',
        {'custom_keys': {'backbone': {'lr_mult': 0.1}}},
        'backbone',
    ),
]
#: Scores and surroundings.
AROUND = [
    one('val_evaluator', [GED, GED]),
    one('val_evaluator', [[GED]]),
    one('val_evaluator', {**GED, 'iou_metrics': ['mIoU']}, 'iou_metrics'),
    one('val_evaluator[0].classes', [1, 1]),
    one(
        'val_evaluator',
        {'type': 'IoUMetric', 'iou_metrics': ['mIoU'], 'nan_to_num': '-1'},
        'nan_to_num',
    ),
    one(
        'val_evaluator',
        {'type': 'Evaluator', 'metrics': [{'type': 'GEDMetrik'}]},
        'GEDMetrik',
    ),
    one(
        'test_evaluator',
        {'type': 'IoUMetric', 'iou_metrics': ['mIoU'], 'format_only': True},
        'format_only',
    ),
    one('test_evaluator', {'type': 'CityscapesMetric', 'output_dir': 'x'}),
    one('test_evaluator', {'type': 'FlipMetric'}, 'flip'),
    one('custom_imports', ['mmcar']),
    one(
        'custom_imports',
        {'imports': ['mmcar'], 'allow_failed_import': True},
        'allow_failed_import',
    ),
    one('env_cfg.cudnn_benchmarks', True, "'cudnn_benchmark'"),
    one('env_cfg.mp_cfg', {'mp_start_metod': 'fork'}, 'mp_start_metod'),
    one('env_cfg.dist_cfg', 'nccl'),
    one('visualizer.type', 'SegLocalVisualiser', "'SegLocalVisualizer'"),
    one(
        'visualizer.vis_backends',
        [{'type': 'TensorboardVisBackend', 'save_dirr': 'x'}],
        'save_dirr',
    ),
    one('visualizer.save_dir', 5),
    one('visualizer.alpha', 5.0),
    one('load_from', 'https//download.example.org/car.pth'),
    one('load_from', '/tmp'),
    one('work_dir', 5),
    one('randomness.seeds', 3, "'seed'"),
    one('seed', 42, 'randomness'),
    one('cudnn_benchmark', False),
    one('lr_config', {'policy': 'poly', 'power': 0.9}),
    one('runner', {'type': 'IterBasedRunner', 'max_iters': 8000}),
    one('evaluation', {'interval': 2000, 'metric': 'mIoU'}),
    one('log_processor.by_epoch', True),
    one('model_wrapper_cfg.type', 'NetworkwiseDDP', 'model_wrapper_cfg'),
]
THIRD_SET = [*MODEL, *DATA_SETS, *RUNNING, *AROUND]
