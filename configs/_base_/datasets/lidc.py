# The 180x180 crops of the Hierarchical Probabilistic U-Net, as they unpack.
_base_ = './lidc_shapes.py'
lidc = dict(data_root='data/lidc_crops')
crop = dict(type='CenterCropAll', crop_size=128)
train_pipeline = [*_base_.load, crop, _base_.mirror, _base_.pack]
test_pipeline = [*_base_.load_all, crop, _base_.pack]
train_files, val_files, test_files = (
    dict(img_path=f'{split}/images', seg_map_path=f'{split}/gt')
    for split in ('train', 'val', 'test')
)
train_dataloader = dict(
    dataset=dict(lidc, data_prefix=train_files, pipeline=train_pipeline)
)
val_dataloader = dict(
    dataset=dict(lidc, data_prefix=val_files, pipeline=test_pipeline)
)
test_dataloader = dict(
    dataset=dict(lidc, data_prefix=test_files, pipeline=test_pipeline)
)
