# Bound: perfect flips of ESPNet's own decision.
_base_ = [
    '../../cpu_experiments/configs/camvid/perfect-flips.py',
    './_base_/espnet.py',
]
model = dict(
    decode_head=dict(black_box=dict(_base_.espnet_camvid, _delete_=True))
)
test_pipeline = [*_base_.load_all, _base_.resize, _base_.cached, _base_.pack]
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader
