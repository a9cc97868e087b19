# Stage 1 trains F; stage 2 trains G at every iteration and D in cycles.
adam = dict(type='Adam', lr=2e-4, betas=(0.5, 0.99), weight_decay=5e-4)
optim_wrapper = dict(
    constructor='NetworkOptimWrapperConstructor',
    calibration=dict(type='OptimWrapper', optimizer=adam),
    generator=dict(type='OptimWrapper', optimizer=adam),
    discriminator=dict(type='OptimWrapper', optimizer=dict(adam, lr=1e-5)),
)
# Each learning rate is halved once: 30 epochs of 8882 images in batches of 32.
halved_lr = dict(
    type='MultiStepLR',
    begin='phase',
    by_epoch=False,
    milestones=[8328],
    gamma=0.5,
)
param_scheduler = [halved_lr]
stage_1 = dict(iters=80000, train=['calibration'])
stage_2 = dict(
    iters=80000,
    train=['generator', 'discriminator'],
    cycles=dict(discriminator=(50, 200)),
)
train_cfg = dict(
    type='AlternatingTrainLoop', phases=[stage_1, stage_2], val_interval=8000
)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
custom_hooks = [dict(type='R1Hook', weight=10.0)]
