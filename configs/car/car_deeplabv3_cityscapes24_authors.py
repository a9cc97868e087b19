# CAR on a frozen DeepLabV3 as in the authors' published code;
# projects/paper/authors_code.md compares.
_base_ = [
    '../_base_/models/car_authors.py',
    '../_base_/models/deeplabv3_cityscapes.py',
    '../_base_/datasets/cityscapes24_authors.py',
    '../_base_/schedules/car_authors.py',
    '../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(
        num_classes=24,
        black_box=dict(_base_.deeplabv3, one_hot=True),
        calibration=dict(_delete_=True, type='AuthorsConvCalibration'),
        generator=dict(noise_size=32),
    ),
)
epoch = 168  # iterations: 2701 images in batches of 16, the rest dropped
param_scheduler = dict(
    calibration=dict(milestones=[250 * epoch, 500 * epoch]),
    generator=dict(milestones=[100 * epoch, 300 * epoch, 500 * epoch]),
    discriminator=dict(milestones=[30 * epoch, 300 * epoch, 500 * epoch]),
)
stage_1 = dict(_base_.stage_1, iters=120000)
stage_2 = dict(_base_.stage_2, iters=120000)
train_cfg = dict(phases=[stage_1, stage_2])
