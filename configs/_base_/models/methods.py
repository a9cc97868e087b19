# What other methods share: a U-Net of MMSeg; any backbone and head will do.
norm_cfg = dict(type='BN')
method_net = dict(
    type='MMSegCalibration',
    backbone=dict(type='UNet', base_channels=32, norm_cfg=norm_cfg),
    decode_head=dict(
        type='FCNHead',
        in_channels=32,
        in_index=4,
        channels=32,
        num_convs=1,
        concat_input=False,
        norm_cfg=norm_cfg,
    ),
)
preprocessor = dict(
    type='StochasticDataPreProcessor',
    mean=[127.5, 127.5, 127.5],
    std=[127.5, 127.5, 127.5],
    seg_pad_val=255,
    size_divisor=1,
)
# Training-free samples of that net; methods that mix models mix these.
training_free = dict(
    type='CARSegmentor',
    data_preprocessor=preprocessor,
    decode_head=dict(
        type='CARHead',
        num_classes=2,
        calibration=method_net,
        generator=dict(type='GumbelSampler'),
    ),
    train_cfg=dict(soft_labels=True),
    test_cfg=dict(mode='whole', num_samples=16),
)
