# BU-BIL cells: mmcar's recipe on the F that calibration.py trained.
_base_ = [
    '../../_base_/models/car_recipe_small.py',
    '../../_base_/datasets/bubil_64.py',
    '../../_base_/schedules/recipe.py',
    '../../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(
        calibration=dict(
            init_cfg=dict(
                type='Pretrained',
                checkpoint='work_dirs/experiments/bubil/calibration/seed0/'
                'iter_2000.pth',
                prefix='decode_head.calibration.',
            )
        )
    )
)
train_dataloader = dict(batch_size=8)
optim_wrapper = dict(calibration=None)
param_scheduler = None
train_cfg = dict(
    phases=[dict(iters=500, train=['generator', 'discriminator'])],
    val_begin=100000,
)
