# Networks thin enough for a CPU. F is a registered MMSeg U-Net with PyTorch's
# initial weights: MMSeg starts the last layer near zero, from where a few
# hundred iterations lead too slowly.
norm_cfg = dict(type='BN')
small_unet = dict(type='UNet', base_channels=16, norm_cfg=norm_cfg)
small_fcn = dict(
    type='FCNHead',
    in_channels=16,
    in_index=4,
    channels=16,
    num_convs=1,
    concat_input=False,
    norm_cfg=norm_cfg,
)
small_f = dict(
    _delete_=True,
    type='MMSegCalibration',
    backbone=dict(small_unet, init_cfg=[]),
    decode_head=dict(small_fcn, init_cfg=None),
)
small = dict(
    decode_head=dict(calibration=small_f, generator=dict(base_channels=16)),
    discriminator=dict(base_channels=16, depth=3),
)
