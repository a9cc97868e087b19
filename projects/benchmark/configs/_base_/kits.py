# KiTS at 32x32: kidney, tumor and cyst with a simulated image, as
# simulate_kits.py writes it.
_base_ = '../../../../configs/_base_/datasets/lidc_shapes.py'
kits = dict(
    _delete_=True,
    type='MultiAnnotatorDataset',
    data_root='data/kits_simulated',
    metainfo=dict(
        classes=('background', 'kidney', 'tumor', 'cyst'),
        palette=[[0, 0, 0], [80, 120, 200], [220, 60, 60], [240, 200, 60]],
    ),
)
resize = dict(type='ResizeOriginal', scale=(32, 32))
train_pipeline = [*_base_.load, resize, _base_.mirror, _base_.pack]
test_pipeline = [*_base_.load_all, resize, _base_.pack]
train_dataloader = dict(
    batch_size=8,
    dataset=dict(
        kits, data_prefix=_base_.train_files, pipeline=train_pipeline
    ),
)
val_dataloader = None
test_dataloader = dict(
    dataset=dict(
        kits,
        data_prefix=_base_.val_files,
        pipeline=test_pipeline,
        test_mode=True,
    )
)
# Few slices have all three: a structure that both maps lack is one they agree
# on, as in LIDC, so that no slice is left out.
masses = dict(num_samples=(16,), classes=(1, 2, 3), absent='one')
test_evaluator = [
    dict(masses, type='GEDMetric'),
    dict(masses, type='HMIoUMetric'),
    dict(type='CalibrationMetric'),
]
