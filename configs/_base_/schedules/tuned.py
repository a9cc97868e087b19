# G alone; F is taken over from a run that has trained it.
_base_ = './car_tuned.py'
optim_wrapper = dict(calibration=None)
param_scheduler = dict(
    _delete_=True,
    generator=dict(type='CosineAnnealingLR', by_epoch=False, end=80000),
)
train_cfg = dict(phases=[dict(iters=80000, train=['generator'])])
