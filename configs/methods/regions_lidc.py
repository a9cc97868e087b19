# Training-free samples in which undecided regions vary on their own.
_base_ = '../_base_/method_lidc.py'
model = dict(
    _base_.training_free,
    decode_head=dict(
        _base_.training_free.decode_head,
        generator=dict(type='RegionSampler', common=0.5, floor=0.01),
    ),
)
optim_wrapper = dict(calibration=_base_.method_optim)
train_cfg = dict(
    phases=[dict(iters=_base_.method_iters, train=['calibration'])]
)
