# BU-BIL cells: mmcar's recipe on the F that calibration.py trained. F is
# unsure of the image itself, where annotators agree: a lower temperature and
# the matching loss sharpen samples, and L_cal would hold them to F's errors. D
# has no effect next to these losses.
_base_ = [
    '../../_base_/models/car_recipe_small.py',
    '../../_base_/datasets/bubil_64.py',
    '../../_base_/schedules/recipe.py',
    '../../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(
        temperature=0.7,
        calibration=dict(
            symmetric=True,
            init_cfg=dict(
                type='Pretrained',
                checkpoint='work_dirs/experiments/bubil/calibration/seed0/'
                'iter_1600.pth',
                prefix='decode_head.calibration.',
            ),
        ),
    ),
    discriminator=None,
    loss_cal=[
        dict(type='EnergyLoss', loss_weight=20.0, classes=(1,), smooth=0.1),
        dict(type='MatchingLoss', loss_weight=20.0, classes=(1,), smooth=0.1),
    ],
)
train_dataloader = dict(batch_size=8)
optim_wrapper = dict(
    calibration=None,
    generator=dict(optimizer=dict(lr=1e-3)),
    discriminator=None,
)
param_scheduler = None
train_cfg = dict(
    phases=[dict(iters=300, train=['generator'])],
    val_begin=100000,
)
custom_hooks = [
    dict(type='NetworkEMAHook', network='generator', momentum=0.01)
]
