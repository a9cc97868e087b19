# F alone; G stays as it starts.
_base_ = [
    '../../../../configs/_base_/models/car_recipe_small.py',
    '../../../../configs/_base_/schedules/recipe.py',
    '../../../../configs/_base_/default_runtime.py',
]
model = dict(discriminator=None)
optim_wrapper = dict(generator=None, discriminator=None)
train_cfg = dict(val_begin=_base_.never)
custom_hooks = None
