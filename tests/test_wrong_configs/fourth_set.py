"""What a fourth set of unseen wrong configs got past the checks."""

from tests.test_wrong_configs.corpus import DROP, OPTIM, TRAIN, VAL, one

EMA = {'type': 'EMAHook', 'momentum': 0.001}
FOURTH_SET = [
    one('model.data_preprocessor.mean', [127.5]),
    one('model.data_preprocessor.mean', None),
    one('model.data_preprocessor.mean', [-127.5, 127.5, 127.5]),
    one('model.data_preprocessor.std', [127.5, 127.5, 2000.0]),
    one(f'{OPTIM}.generator.optimizer.betas', [0.5]),
    one(f'{OPTIM}.generator.optimizer.betas', 0.5),
    one(f'{TRAIN}.sampler', DROP),
    one(f'{VAL}.drop_last', True),
    one('visualizer.vis_backends', ['LocalVisBackend']),
    one('custom_imports', {'imports': ['mmcars']}),
    one('custom_hooks', [{**EMA, 'update_buffers': 'yes'}], 'update_buffers'),
    one('custom_hooks', [{**EMA, 'mometum': 0.1}], 'mometum'),
    one(f'{VAL}.dataset.metainfo.classes', ['cell', 'background']),
    one(f'{VAL}.dataset.label_map', {'255': 1}),
    one('param_scheduler[0].milestones', [None]),
    one('model.test_cfg', 'whole'),
]
