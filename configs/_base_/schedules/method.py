# One network; models with others replace `train` and the optimiser's name.
adam = dict(type='Adam', lr=5e-4, weight_decay=1e-5)
method_optim = dict(type='OptimWrapper', optimizer=adam)
method_iters = 80000
optim_wrapper = dict(constructor='NetworkOptimWrapperConstructor')
param_scheduler = dict(
    type='CosineAnnealingLR', by_epoch=False, begin=0, end=method_iters
)
train_cfg = dict(
    type='AlternatingTrainLoop',
    phases=[dict(iters=method_iters, train=['net'])],
    val_interval=8000,
)
val_cfg = dict(type='ValLoop')
test_cfg = dict(type='TestLoop')
