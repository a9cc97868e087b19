# Training-free sampling from the F that calibration.py trained.
_base_ = [
    '../_base_/training_free.py',
    '../_base_/camvid_flips_48x64.py',
    '../../trained.py',
]
model = dict(decode_head=_base_.camvid_head, noise=dict(type='SobolNoise'))
train_dataloader = None
