# Ground-truth control on LIDC shapes: G on the readers' mean, mmcar's recipe.
_base_ = [
    '../../_base_/models/car_recipe_small.py',
    '../../_base_/datasets/lidc_shapes_32.py',
    '../../_base_/schedules/recipe.py',
    '../../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(calibration=dict(_delete_=True, type='KnownDistribution'))
)
optim_wrapper = dict(calibration=None)
param_scheduler = None
train_cfg = dict(
    phases=[dict(iters=1000, train=['generator', 'discriminator'])],
    val_begin=100000,
)
