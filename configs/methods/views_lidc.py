# Test-time augmentation as a sampler: a flip or quarter turn per sample.
_base_ = '../_base_/method_lidc.py'
model = dict(
    type='TTASegmentor',
    model=_base_.training_free,
    symmetries='square',
    test_cfg=dict(mode='whole', num_samples=16),
)
optim_wrapper = dict(calibration=_base_.method_optim)
train_cfg = dict(
    phases=[dict(iters=_base_.method_iters, train=['calibration'])]
)
