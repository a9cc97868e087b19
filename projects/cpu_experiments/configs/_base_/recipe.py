# mmcar's recipe for G and D, on an F that is given.
_base_ = [
    '../../../../configs/_base_/models/car_recipe_small.py',
    '../../../../configs/_base_/schedules/recipe.py',
    '../../../../configs/_base_/default_runtime.py',
]
optim_wrapper = dict(calibration=None)
param_scheduler = None
train_cfg = dict(
    phases=[dict(iters=400, train=['generator', 'discriminator'])],
    val_begin=_base_.never,
)
