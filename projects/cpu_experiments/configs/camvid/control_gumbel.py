# Training-free sampling from the true probabilities of the flips.
_base_ = ['../_base_/training_free.py', '../_base_/camvid_flips_48x64.py']
model = dict(
    decode_head=dict(
        num_classes=16,
        calibration=dict(_delete_=True, type='KnownDistribution'),
    )
)
train_dataset = _base_.train_dataloader.dataset  # measure of floods
train_dataloader = None
