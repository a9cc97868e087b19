# G alone; F is taken over from a run that has trained it.
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
train_cfg = dict(phases=[dict(iters=80000, train=['generator'])])
custom_hooks = None
