# Training-free sampling from the F that calibration.py trained.
_base_ = ['../_base_/training_free.py', '../_base_/bubil_64.py']
model = dict(decode_head=dict(calibration=dict(symmetric=True)))
train_dataset = _base_.train_dataloader.dataset  # measure of floods
train_dataloader = None
