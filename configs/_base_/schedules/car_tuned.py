# F learns by cross entropy; then a copy of it learns from whole samples.
_base_ = './recipe.py'
optim_wrapper = dict(
    generator=dict(optimizer=dict(lr=5e-4, betas=(0.9, 0.999))),
    discriminator=None,
)
param_scheduler = dict(
    generator=dict(
        type='CosineAnnealingLR', by_epoch=False, begin='phase', end='phase'
    ),
)
tuning = dict(
    iters=32000, train=['generator'], copy={'generator.net': 'calibration'}
)
train_cfg = dict(phases=[_base_.stage_1, tuning])
custom_hooks = None
