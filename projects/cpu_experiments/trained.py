"""Networks that run.py trains for other configs, and where it leaves them.

The weights of F are those of seed 0; run.py names those of other seeds.
"""

folder = 'work_dirs/experiments'
f_weights = dict(type='Pretrained', prefix='decode_head.calibration.')
bubil_f = dict(
    f_weights, checkpoint=f'{folder}/bubil/calibration/seed0/iter_1600.pth'
)
lidc_shapes_f = dict(
    f_weights, checkpoint=f'{folder}/lidc-shapes/ct_recipe/seed0/iter_900.pth'
)
camvid_f = dict(
    f_weights, checkpoint=f'{folder}/camvid/calibration/seed0/iter_1500.pth'
)
conv_f = dict(_delete_=True, type='ConvCalibration', channels=32)
camvid_head = dict(
    num_classes=16,
    black_box=dict(
        type='BlackBox',
        config='projects/cpu_experiments/configs/camvid/black_box.py',
        checkpoint=f'{folder}/camvid/black_box/iter_1500.pth',
    ),
    calibration=conv_f,
)
camvid_head_trained = dict(
    camvid_head, calibration=dict(conv_f, init_cfg=camvid_f)
)
