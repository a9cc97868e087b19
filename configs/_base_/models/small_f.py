# F of the small models: a registered MMSeg U-Net. It has PyTorch's initial
# weights: MMSeg starts the last layer near zero, from where a few hundred
# iterations lead too slowly.
small_f = dict(
    _delete_=True,
    type='MMSegCalibration',
    backbone=dict(
        type='UNet',
        base_channels=16,
        norm_cfg=dict(type='BN'),
        init_cfg=[],
    ),
    decode_head=dict(
        type='FCNHead',
        in_channels=16,
        in_index=4,
        channels=16,
        num_convs=1,
        concat_input=False,
        norm_cfg=dict(type='BN'),
        init_cfg=None,
    ),
)
