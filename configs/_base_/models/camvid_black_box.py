# The black box of the CamVid experiments and the F that calibration.py trains
# on it.
black_box = dict(
    type='BlackBox',
    config='configs/experiments/camvid/black_box.py',
    checkpoint='work_dirs/experiments/camvid/black_box/iter_1500.pth',
)
untrained_f = dict(_delete_=True, type='ConvCalibration', channels=32)
trained_f = dict(
    untrained_f,
    init_cfg=dict(
        type='Pretrained',
        checkpoint='work_dirs/experiments/camvid/calibration/seed0/'
        'iter_1500.pth',
        prefix='decode_head.calibration.',
    ),
)
