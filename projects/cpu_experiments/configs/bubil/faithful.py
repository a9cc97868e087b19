# BU-BIL cells with the paper's recipe for G and D, on the F that
# calibration.py trained.
_base_ = [
    '../_base_/faithful.py',
    '../_base_/bubil_64.py',
    '../../trained.py',
]
model = dict(
    decode_head=dict(
        calibration=dict(symmetric=True, init_cfg=_base_.bubil_f)
    ),
    train_cfg=dict(num_samples=8),
)
