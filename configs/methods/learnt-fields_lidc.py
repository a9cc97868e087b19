# F by cross entropy, then a small net that learns which pixels vary together.
_base_ = '../_base_/method_lidc.py'
model = dict(
    _base_.training_free,
    decode_head=dict(
        _base_.training_free.decode_head,
        generator=dict(type='LearntFieldSampler', rank=16, floor=0.01),
    ),
    loss_samples=[dict(type='EnergyLoss', loss_weight=1.0, smooth=0.1)],
    train_cfg=dict(soft_labels=True, num_samples=8),
)
optim_wrapper = dict(
    calibration=_base_.method_optim, generator=_base_.method_optim
)
param_scheduler = dict(begin='phase', end='phase')
train_cfg = dict(
    phases=[
        dict(iters=_base_.method_iters, train=['calibration']),
        dict(iters=_base_.method_iters // 2, train=['generator']),
    ]
)
