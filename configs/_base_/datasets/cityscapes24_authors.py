# Cityscapes24 as in the authors' published code: label maps of the black box
# read from disk, crops at 0.6 to 1 of the working size, no mirroring, three
# training cities for validation.
_base_ = './cityscapes24_black_box.py'
side = 217  # 0.85 of 256 pixels
cached = dict(_base_.cached, form='labels')
train_pipeline = [
    _base_.small,
    *_base_.load,
    _base_.class_flips,
    cached,
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
val_pipeline = [*_base_.read_val, cached, _base_.pack]
held_out = ['darmstadt', 'monchengladbach', 'ulm']
train_dataloader = dict(
    dataset=dict(
        pipeline=train_pipeline, filter_cfg=dict(without_cities=held_out)
    )
)
val_dataloader = dict(
    dataset=dict(
        data_prefix=_base_.train_files,
        filter_cfg=dict(cities=held_out),
        pipeline=val_pipeline,
    )
)
test_dataloader = dict(dataset=dict(pipeline=val_pipeline))
