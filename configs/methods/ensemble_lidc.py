# Deep ensemble of four, trained one after the other. Members that are there
# already need no training: checkpoints=['a.pth', 'b.pth'] in place of
# num_members.
_base_ = '../_base_/method_lidc.py'
model = dict(
    type='DeepEnsemble',
    member=_base_.training_free,
    num_members=4,
    test_cfg=dict(mode='whole', num_samples=16),
)
optim_wrapper = dict(
    calibration_0=_base_.method_optim,
    calibration_1=_base_.method_optim,
    calibration_2=_base_.method_optim,
    calibration_3=_base_.method_optim,
)
param_scheduler = dict(begin='phase', end='phase')
iters = _base_.method_iters
train_cfg = dict(
    phases=[
        dict(iters=iters, train=['calibration_0']),
        dict(iters=iters, train=['calibration_1']),
        dict(iters=iters, train=['calibration_2']),
        dict(iters=iters, train=['calibration_3']),
    ]
)
