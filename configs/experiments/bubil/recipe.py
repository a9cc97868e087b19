# BU-BIL cells: mmcar's recipe on the F that calibration.py trained. F's errors
# are larger than the annotators' disagreement, so that matching samples and
# annotators pays, and L_cal, which ties samples to F, gets less weight.
_base_ = [
    '../../_base_/models/car_recipe_small.py',
    '../../_base_/datasets/bubil_64.py',
    '../../_base_/schedules/recipe.py',
    '../../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(
        calibration=dict(
            symmetric=True,
            init_cfg=dict(
                type='Pretrained',
                checkpoint='work_dirs/experiments/bubil/calibration/seed0/'
                'iter_1600.pth',
                prefix='decode_head.calibration.',
            ),
        )
    ),
    loss_cal=[
        dict(type='CalibrationLoss', loss_weight=1.0),
        dict(type='EnergyLoss', loss_weight=20.0, classes=(1,), smooth=0.1),
        dict(type='MatchingLoss', loss_weight=20.0, classes=(1,), smooth=0.1),
    ],
)
train_dataloader = dict(batch_size=8)
optim_wrapper = dict(calibration=None, generator=dict(optimizer=dict(lr=1e-3)))
param_scheduler = None
train_cfg = dict(
    phases=[dict(iters=400, train=['generator', 'discriminator'])],
    val_begin=100000,
)
