# The paper's recipe for G and D, on an F that is given.
_base_ = [
    '../../../../configs/_base_/models/car_small.py',
    '../../../../configs/_base_/schedules/car_two_stage.py',
    '../../../../configs/_base_/default_runtime.py',
]
optim_wrapper = dict(calibration=None)
train_cfg = dict(
    phases=[dict(_base_.stage_2, iters=400)], val_begin=_base_.never
)
