# G tunes a copy of an F that is given.
_base_ = [
    '../../../../configs/_base_/models/car_tuned_small.py',
    '../../../../configs/_base_/schedules/tuned.py',
    '../../../../configs/_base_/default_runtime.py',
]
train_cfg = dict(val_begin=_base_.never)
