# Real outlines of LIDC's annotators with simulated CT crops; made by
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
# Of two classes the second is scored, two empty maps as equal.
sample_metrics = [
    dict(type='GEDMetric', num_samples=(16,)),
    dict(type='HMIoUMetric', num_samples=(16,)),
]
val_evaluator = [*sample_metrics, dict(type='CalibrationMetric')]
test_evaluator = val_evaluator
# What the paper reports; for models that draw 100 samples.
paper_metrics = [
    dict(type='GEDMetric', num_samples=(16, 50, 100)),
    *val_evaluator[1:],
]
hundred_samples = dict(test_cfg=dict(num_samples=100))
