# CamVid flips on the black box of black_box.py, paper's recipe for G and D, on
# the F that calibration.py trained.
_base_ = [
    '../_base_/faithful.py',
    '../_base_/camvid_flips_48x64.py',
    '../../trained.py',
]
model = dict(
    decode_head=dict(
        _base_.camvid_head_trained, generator=dict(noise_size=32)
    ),
    train_cfg=dict(num_samples=7),
)
