# CamVid flips on the black box of black_box.py, paper's recipe for G and D, on
# the F that calibration.py trained.
_base_ = [
    '../../_base_/models/car_small.py',
    '../../_base_/datasets/camvid_flips_small.py',
    '../../_base_/schedules/car_two_stage.py',
    '../../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(
        num_classes=16,
        black_box=dict(
            type='BlackBox',
            config='configs/experiments/camvid/black_box.py',
            checkpoint='work_dirs/experiments/camvid/black_box/iter_1500.pth',
        ),
        calibration=dict(
            _delete_=True,
            type='ConvCalibration',
            channels=32,
            init_cfg=dict(
                type='Pretrained',
                checkpoint='work_dirs/experiments/camvid/calibration/seed0/'
                'iter_1500.pth',
                prefix='decode_head.calibration.',
            ),
        ),
        generator=dict(noise_size=32),
    ),
    train_cfg=dict(num_samples=7),
)
train_dataloader = dict(batch_size=4)
optim_wrapper = dict(calibration=None)
train_cfg = dict(
    phases=[
        dict(
            iters=400,
            train=['generator', 'discriminator'],
            cycles=dict(discriminator=(50, 200)),
        ),
    ],
    val_begin=100000,
)
