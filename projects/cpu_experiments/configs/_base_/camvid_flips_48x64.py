# CamVid flips at 48x64.
_base_ = '../../../../configs/_base_/datasets/camvid_flips.py'
resize = dict(type='ResizeOriginal', scale=(64, 48), keep_ratio=False)
train_pipeline = [
    *_base_.load,
    resize,
    _base_.class_flips,
    _base_.mirror,
    _base_.pack,
]
test_pipeline = [*_base_.load_all, resize, _base_.pack]
train_dataloader = dict(batch_size=4, dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader
# The largest part of a training image that each class and twin covers, of its
# 3072 pixels: --eval flood-rate reads it there.
max_class_area = [
    pixels / 3072
    for pixels in (
        *(1098, 2093, 147, 1330, 424, 1244, 477, 441, 759, 176, 253),
        *(424, 176, 759, 1244, 1330),
    )
]
