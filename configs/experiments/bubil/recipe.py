# BU-BIL cells: F from the image on the annotators' mean, then the recipe.
_base_ = [
    '../../_base_/models/car_recipe_small.py',
    '../../_base_/datasets/bubil_64.py',
    '../../_base_/schedules/recipe.py',
    '../../_base_/default_runtime.py',
]
model = dict(train_cfg=dict(soft_labels=True))
train_dataloader = dict(batch_size=8)
param_scheduler = dict(calibration=dict(end=2000))
train_cfg = dict(
    phases=[
        dict(iters=2000, train=['calibration']),
        dict(iters=400, train=['generator', 'discriminator']),
    ],
    val_begin=100000,
)
