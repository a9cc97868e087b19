# Training-free sampling from the F that calibration.py trained.
_base_ = [
    '../_base_/training_free.py',
    '../_base_/camvid_flips_48x64.py',
    '../../trained.py',
]
model = dict(
    decode_head=dict(
        _base_.camvid_head,
        generator=dict(
            correlation_length=4.0, floor=0.02, groups=_base_.twins
        ),
    ),
    noise=dict(type='SobolNoise'),
    test_cfg=dict(max_class_area=_base_.max_class_area),
)
train_dataset = _base_.train_dataloader.dataset  # measure of floods
train_dataloader = None
