# Cityscapes with class flips, in MMSeg's Cityscapes layout. Images are listed
# as they came; what works at 256x512 reads the converter's copies.
_base_ = './class_flips.py'
cityscapes = dict(type='Cityscapes24Dataset', data_root='data/cityscapes')
size = (512, 256)  # width, height
small = dict(
    type='ReadCopies',
    folder='256x512',
    advice='run tools/dataset_converters/cityscapes24.py, which makes them',
)
scaled = dict(
    type='RandomResize', scale=size, ratio_range=(0.5, 1.5), keep_ratio=True
)
read_train = [small, *_base_.load, _base_.class_flips, scaled]
augment = [
    dict(type='RandomCrop', crop_size=(128, 128)),
    _base_.mirror,
    dict(type='PadAll', size=(128, 128)),
    _base_.pack,
]
read_val = [small, *_base_.load_all, dict(type='ResizeOriginal', scale=size)]
train_pipeline = [*read_train, *augment]
test_pipeline = [*read_val, _base_.pack]
images, labels = 'leftImg8bit', 'gtFine'
train_files = dict(img_path=f'{images}/train', seg_map_path=f'{labels}/train')
val_files = dict(img_path=f'{images}/val', seg_map_path=f'{labels}/val')
train_dataloader = dict(
    batch_size=16,
    num_workers=4,
    dataset=dict(cityscapes, data_prefix=train_files, pipeline=train_pipeline),
)
val_dataloader = dict(
    batch_size=4,
    num_workers=4,
    dataset=dict(cityscapes, data_prefix=val_files, pipeline=test_pipeline),
)
test_dataloader = val_dataloader
