# Networks and losses of the authors' published code, in its sizes for LIDC,
# where it differs from the paper; projects/paper/authors_code.md has the list.
_base_ = './car.py'
imagenet = 'https://download.pytorch.org/models/vgg19_bn-c79401a0.pth'
model = dict(
    decode_head=dict(
        calibration=dict(
            _delete_=True, type='VGGCalibration', encoder_weights=imagenet
        ),
        generator=dict(_delete_=True, type='AuthorsUNet', noise_size=8),
    ),
    discriminator=dict(
        _delete_=True, type='AuthorsDiscriminator', image_size=(128, 128)
    ),
    loss_samples=[
        dict(
            type='CalibrationLoss',
            loss_weight=5.0,
            floor='clamp',
            count_ignored=True,
        )
    ],
    train_cfg=dict(num_samples=5, calibration_in_train_mode=True),
)
