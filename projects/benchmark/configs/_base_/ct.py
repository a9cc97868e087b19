# LIDC shapes with simulated CT at 32x32: every second slice is trained with,
# every twelfth is tested.
_base_ = [
    '../../../cpu_experiments/configs/_base_/lidc_shapes_32.py',
    './square.py',
]
train_pipeline = [
    *_base_.load,
    _base_.crop,
    _base_.resize,
    *_base_.square,
    _base_.pack,
]
train_dataloader = dict(
    batch_size=8,
    dataset=dict(indices=list(range(0, 10872, 2)), pipeline=train_pipeline),
)
val_dataloader = None
test_dataloader = dict(dataset=dict(indices=list(range(0, 2380, 12))))
