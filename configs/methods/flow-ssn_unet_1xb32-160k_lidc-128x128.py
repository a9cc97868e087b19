# Flow-SSN on F: F by cross entropy, then a small net that leads noise around
# its logits to label maps. On SSN's own base: model=dict(type=
# 'StochasticSegmentationNetwork', ...) as in ssn_lidc.py, trained as 'net'.
# With exact margins: model=dict(type='ExactMargins', model=<this model>).
_base_ = '../_base_/method_lidc.py'
gn = dict(type='GN', num_groups=4)
model = dict(
    type='FlowSSN',
    model=_base_.training_free,
    net=dict(
        type='MMSegCalibration',
        backbone=dict(
            type='UNet',
            in_channels=5,  # two classes twice, and the time
            base_channels=8,
            norm_cfg=gn,
        ),
        decode_head=dict(
            type='FCNHead',
            in_channels=8,
            in_index=4,
            channels=8,
            num_convs=1,
            concat_input=False,
            dropout_ratio=0.0,
            norm_cfg=gn,
        ),
    ),
    steps=10,
)
optim_wrapper = dict(calibration=_base_.method_optim, flow=_base_.method_optim)
param_scheduler = dict(begin='phase', end='phase')
phases = [dict(iters=_base_.method_iters, train=[n]) for n in optim_wrapper]
train_cfg = dict(phases=phases)
