_base_ = [
    '../../_base_/models/car_recipe_small.py',
    '../../_base_/datasets/lidc_shapes_32.py',
    '../../_base_/schedules/recipe.py',
    '../../_base_/default_runtime.py',
]
train_dataloader = dict(batch_size=16)
optim_wrapper = dict(calibration=dict(optimizer=dict(lr=1e-3)))
train_cfg = dict(
    phases=[
        dict(iters=500, train=['calibration']),
        dict(iters=500, train=['generator', 'discriminator']),
    ],
    val_interval=100000,
)
