# The paper's networks, thin enough for a CPU; F is a registered MMSeg U-Net.
_base_ = './car.py'
model = dict(
    decode_head=dict(
        calibration=dict(
            _delete_=True,
            type='MMSegCalibration',
            # PyTorch's initial weights: MMSeg starts the last layer near
            # zero, from where a few hundred iterations lead too slowly.
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
        ),
        generator=dict(base_channels=16),
    ),
    discriminator=dict(base_channels=16, depth=3),
)
