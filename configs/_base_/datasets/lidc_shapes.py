# Real outlines of LIDC readers with simulated CT crops; made by
# tools/dataset_converters/lidc_shapes.py data/lidc_shapes
_base_ = './loading.py'
lidc = dict(type='LIDCDataset', data_root='data/lidc_shapes')
train_pipeline = [*_base_.load, _base_.mirror, _base_.pack]
test_pipeline = [*_base_.load_all, _base_.pack]
train_files, val_files, test_files = (
    dict(img_path=f'images/{split}', seg_map_path=f'annotations/{split}')
    for split in ('train', 'val', 'test')
)
train_dataloader = dict(
    batch_size=32,
    dataset=dict(lidc, data_prefix=train_files, pipeline=train_pipeline),
)
val_dataloader = dict(
    batch_size=32,
    dataset=dict(lidc, data_prefix=val_files, pipeline=test_pipeline),
)
test_dataloader = dict(
    batch_size=32,
    dataset=dict(lidc, data_prefix=test_files, pipeline=test_pipeline),
)
sample_metrics = [
    dict(type='GEDMetric', num_samples=(16,), classes=(1,), absent='one'),
    dict(type='HMIoUMetric', num_samples=(16,), classes=(1,), absent='one'),
]
val_evaluator = [*sample_metrics, dict(type='CalibrationMetric')]
test_evaluator = val_evaluator
