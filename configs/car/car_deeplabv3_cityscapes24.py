# CAR on a frozen DeepLabV3: Cityscapes with five classes that flip at random.
_base_ = [
    '../_base_/models/car.py',
    '../_base_/models/deeplabv3_cityscapes.py',
    '../_base_/datasets/cityscapes24_black_box.py',
    '../_base_/schedules/car_two_stage.py',
    '../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(
        num_classes=24,
        black_box=_base_.deeplabv3,
        calibration=dict(_delete_=True, type='ConvCalibration'),
        generator=dict(noise_size=32),
    ),
    train_cfg=dict(num_samples=7),
)
# 30 epochs of 2975 images in batches of 16.
param_scheduler = [dict(_base_.halved_lr, milestones=[5580])]
stage_1 = dict(_base_.stage_1, iters=120000)
stage_2 = dict(_base_.stage_2, iters=120000)
train_cfg = dict(phases=[stage_1, stage_2])
