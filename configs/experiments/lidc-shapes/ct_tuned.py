# LIDC shapes from the simulated CT: G tunes a copy of the F that ct_recipe.py
# trained.
_base_ = [
    '../../_base_/models/car_tuned_small.py',
    '../../_base_/datasets/lidc_shapes_32.py',
    '../../_base_/schedules/tuned.py',
    '../../_base_/default_runtime.py',
]
trained_f = dict(
    type='Pretrained',
    checkpoint='work_dirs/experiments/lidc-shapes/ct_recipe/seed0/'
    'iter_900.pth',
    prefix='decode_head.calibration.',
)
model = dict(
    decode_head=dict(
        calibration=dict(init_cfg=trained_f),
        generator=dict(net=dict(init_cfg=trained_f)),
    ),
)
param_scheduler = dict(generator=dict(end=1500))
train_cfg = dict(
    phases=[dict(iters=1500, train=['generator'])],
    val_begin=100000,
)
