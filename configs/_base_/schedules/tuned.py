# G alone, in one phase, as fast as F was trained; F has its weights already.
_base_ = './recipe.py'
optim_wrapper = dict(
    calibration=None,
    generator=dict(optimizer=dict(lr=5e-4, betas=(0.9, 0.999))),
    discriminator=None,
)
param_scheduler = dict(
    _delete_=True,
    generator=dict(type='CosineAnnealingLR', by_epoch=False, end=80000),
)
custom_hooks = None
