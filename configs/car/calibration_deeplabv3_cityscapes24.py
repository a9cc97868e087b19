# F alone on a frozen DeepLabV3, with the training-free sampler: F starts as
# the black box, each class that flips and its twin with half of the class.
_base_ = [
    '../_base_/models/car.py',
    '../_base_/models/deeplabv3_cityscapes.py',
    '../_base_/datasets/cityscapes24_black_box.py',
    '../_base_/schedules/calibration_only.py',
    '../_base_/default_runtime.py',
]
model = dict(
    decode_head=dict(
        num_classes=24,
        black_box=_base_.deeplabv3,
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
