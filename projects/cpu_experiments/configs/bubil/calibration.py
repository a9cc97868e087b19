# BU-BIL cells: F from the image, on the annotators' mean. Its G is untrained.
_base_ = ['../_base_/calibration.py', '../_base_/bubil_64.py']
model = dict(
    decode_head=dict(calibration=dict(symmetric=True)),
    train_cfg=dict(soft_labels=True),
)
param_scheduler = dict(calibration=dict(end=1600))
train_cfg = dict(phases=[dict(iters=1600, train=['calibration'])])
