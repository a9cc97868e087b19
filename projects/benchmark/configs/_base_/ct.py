# LIDC shapes with simulated CT at 32x32: every fourth slice is tested.
_base_ = '../../../cpu_experiments/configs/_base_/lidc_shapes_32.py'
train_dataloader = dict(batch_size=8)
val_dataloader = None
