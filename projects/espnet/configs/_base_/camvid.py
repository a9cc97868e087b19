# CamVid with the 11 classes that it is scored by, at the size of its files.
_base_ = '../../../../configs/_base_/datasets/loading.py'
colours = dict(
    sky=[128, 128, 128],
    building=[128, 0, 0],
    pole=[192, 192, 128],
    road=[128, 64, 128],
    pavement=[60, 40, 222],
    tree=[128, 128, 0],
    sign=[192, 128, 128],
    fence=[64, 64, 128],
    car=[64, 0, 128],
    pedestrian=[64, 64, 0],
    bicyclist=[0, 128, 192],
)
classes, palette = tuple(colours), list(colours.values())
val_dataloader = dict(
    batch_size=4,
    dataset=dict(
        type='MultiAnnotatorDataset',
        data_root='data/camvid',
        data_prefix=dict(img_path='val', seg_map_path='valannot'),
        metainfo=dict(classes=classes, palette=palette),
        label_map={11: 255},
        pipeline=[*_base_.load_all, _base_.pack],
    ),
)
test_dataloader = val_dataloader
val_evaluator = [dict(type='CalibrationMetric'), dict(type='IoUMetric')]
test_evaluator = val_evaluator
