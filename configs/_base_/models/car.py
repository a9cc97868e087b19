# The networks and losses of the paper, in the sizes it used for LIDC.
model = dict(
    type='CARSegmentor',
    data_preprocessor=dict(
        type='StochasticDataPreProcessor',
        mean=[127.5, 127.5, 127.5],
        std=[127.5, 127.5, 127.5],
        seg_pad_val=255,
        size_divisor=1,
    ),
    decode_head=dict(
        type='CARHead',
        num_classes=2,
        calibration=dict(type='SegNetCalibration', base_channels=64),
        generator=dict(
            type='RefinementUNet',
            noise_size=8,
            base_channels=32,
            norm_cfg=dict(type='BN'),
            dropout=0.1,
        ),
    ),
    noise=dict(type='NormalNoise'),
    discriminator=dict(type='DCGANDiscriminator', base_channels=64),
    loss_pixels=dict(type='LabelCrossEntropy'),
    loss_adv=dict(type='AdversarialLoss', loss_weight=10.0),
    loss_samples=[dict(type='CalibrationLoss', loss_weight=5.0)],
    train_cfg=dict(num_samples=20),
    test_cfg=dict(mode='whole', num_samples=16),
)
