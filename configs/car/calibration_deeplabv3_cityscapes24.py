# F alone on a frozen DeepLabV3, with the training-free sampler: F starts as
# the black box, each class that flips and its twin with half of the class.
_base_ = [
    '../_base_/models/car.py',
    '../_base_/datasets/cityscapes24.py',
    '../_base_/schedules/calibration_only.py',
    '../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(
        num_classes=24,
        black_box=dict(
            type='BlackBox',
            config='mmseg::deeplabv3/'
            'deeplabv3_r50-d8_4xb2-80k_cityscapes-512x1024.py',
            checkpoint='pretrained',
        ),
        calibration=dict(
            _delete_=True,
            type='ConvCalibration',
            residual=True,
            # sidewalk2, person2, car2, vegetation2, road2
            class_map=[*range(19), 1, 11, 13, 8, 0],
        ),
        generator=dict(_delete_=True, type='GumbelSampler'),
    ),
    discriminator=None,
)
