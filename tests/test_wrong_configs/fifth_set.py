"""What a fifth set of unseen wrong configs got past the checks."""

from tests.test_wrong_configs.corpus import DATA, DROP, OPTIM, TRAIN, one

EMA = {'type': 'NetworkEMAHook', 'network': 'generator'}
NEVER = {'train_cfg.val_begin': 10_000}
BEST = {
    'default_hooks.checkpoint.save_best': 'GED_3',
    'default_hooks.checkpoint.rule': 'less',
}
FIFTH_SET = [
    one(f'{TRAIN}.shuffle', False),
    one('data', {'samples_per_gpu': 4, 'workers_per_gpu': 2}),
    one('custom_hooks', [{**EMA, 'momentum': 0.999}], 'momentum'),
    one('train_cfg', {'type': 'EpochBasedTrainLoop', 'max_epochs': 9}),
    one(f'{DATA}.pipeline[2]', {'type': 'RandomFlip', 'prob': 0.5}, 'Pack'),
    one(f'{DATA}.metainfo.class_flips', [[0, 9, 0.5]]),
    (
        'the best of scores never taken',
        {**NEVER, **BEST},
        'val_begin',
    ),
    (
        'the average of a network without an optimiser',
        {
            f'{OPTIM}.generator': DROP,
            f'{OPTIM}.discriminator': DROP,
            'train_cfg.phases': [{'iters': 2, 'train': ['calibration']}],
            'custom_hooks': [EMA],
        },
        'NetworkEMAHook',
    ),
]
