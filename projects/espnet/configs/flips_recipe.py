# mmcar's recipe on the F of flips_f.py.
_base_ = [
    '../../cpu_experiments/configs/camvid/recipe.py',
    './_base_/espnet.py',
]
checkpoint = 'work_dirs/espnet/flips_f/seed0/iter_1500.pth'
model = dict(
    decode_head=dict(
        black_box=dict(_base_.espnet_camvid, _delete_=True),
        calibration=dict(init_cfg=dict(checkpoint=checkpoint)),
    )
)
train_pipeline = [
    *_base_.load,
    _base_.resize,
    _base_.cached,
    _base_.class_flips,
    _base_.mirror,
    _base_.pack,
]
train_dataloader = dict(dataset=dict(pipeline=train_pipeline))
test_pipeline = [*_base_.load_all, _base_.resize, _base_.cached, _base_.pack]
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader
