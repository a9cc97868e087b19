# BU-BIL cells: F from the image, on the annotators' mean. Its G is untrained.
_base_ = [
    '../../_base_/models/car_recipe_small.py',
    '../../_base_/datasets/bubil_64.py',
    '../../_base_/schedules/recipe.py',
    '../../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(calibration=dict(symmetric=True)),
    discriminator=None,
    train_cfg=dict(soft_labels=True),
)
optim_wrapper = dict(generator=None, discriminator=None)
param_scheduler = dict(calibration=dict(end=1600))
train_cfg = dict(
    phases=[dict(iters=1600, train=['calibration'])], val_begin=100000
)
custom_hooks = None
