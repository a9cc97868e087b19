# Cityscapes24 as in the authors' published code: crops at 0.6 to 1 of the
# working size, no mirroring, three training cities for validation.
_base_ = './cityscapes24.py'
side = 217  # 0.85 of 256 pixels
train_pipeline = [
    *_base_.load,
    _base_.class_flips,
    dict(type='Resize', scale=_base_.size),
    dict(type='RandomCrop', crop_size=(side, side)),
    dict(
        type='RandomChoiceResize',
        scales=[(130, 130), (159, 159), (188, 188), (side, side)],
        resize_type='Resize',
        interpolation='nearest',
    ),
    dict(type='RandomCrop', crop_size=(128, 128)),
    _base_.pack,
]
held_out = ['darmstadt', 'monchengladbach', 'ulm']
train_dataloader = dict(
    dataset=dict(
        pipeline=train_pipeline, filter_cfg=dict(without_cities=held_out)
    )
)
val_dataloader = dict(
    dataset=dict(
        data_prefix=_base_.train_files, filter_cfg=dict(cities=held_out)
    )
)
