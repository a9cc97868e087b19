# LIDC shapes from the simulated CT: mmcar's recipe, F included.
_base_ = [
    '../../../../configs/_base_/models/car_recipe_small.py',
    '../_base_/lidc_shapes_32.py',
    '../../../../configs/_base_/schedules/recipe.py',
    '../../../../configs/_base_/default_runtime.py',
]
model = dict(train_cfg=dict(soft_labels=True))
param_scheduler = dict(calibration=dict(end=600))
train_cfg = dict(
    phases=[
        dict(iters=600, train=['calibration']),
        dict(iters=300, train=['generator', 'discriminator']),
    ],
    val_begin=_base_.never,
)
