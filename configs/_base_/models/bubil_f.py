# The F that experiments/bubil/calibration.py trains.
f_weights = dict(
    type='Pretrained',
    checkpoint='work_dirs/experiments/bubil/calibration/seed0/iter_1600.pth',
    prefix='decode_head.calibration.',
)
