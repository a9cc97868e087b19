# CamVid flips: F on the black box of black_box.py. Its G is untrained.
_base_ = [
    '../_base_/calibration.py',
    '../_base_/camvid_flips_48x64.py',
    '../../trained.py',
]
model = dict(decode_head=_base_.camvid_head)
param_scheduler = dict(calibration=dict(end=1500))
train_cfg = dict(phases=[dict(iters=1500, train=['calibration'])])
