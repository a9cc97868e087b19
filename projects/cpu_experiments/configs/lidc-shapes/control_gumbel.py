# Training-free: shared Gumbel noise on the readers' mean.
_base_ = ['../_base_/training_free.py', '../_base_/lidc_shapes_32.py']
model = dict(
    decode_head=dict(calibration=dict(_delete_=True, type='KnownDistribution'))
)
train_dataset = _base_.train_dataloader.dataset  # measure of floods
train_dataloader = None
