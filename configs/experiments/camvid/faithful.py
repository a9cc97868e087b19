# CamVid flips on the black box of black_box.py, paper's recipe for G and D, on
# the F that calibration.py trained.
_base_ = [
    '../../_base_/models/car_small.py',
    '../../_base_/models/camvid_black_box.py',
    '../../_base_/datasets/camvid_flips_small.py',
    '../../_base_/schedules/car_two_stage.py',
    '../../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(
        num_classes=16,
        black_box={{_base_.black_box}},
        calibration={{_base_.trained_f}},
        generator=dict(noise_size=32),
    ),
    train_cfg=dict(num_samples=7),
)
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
