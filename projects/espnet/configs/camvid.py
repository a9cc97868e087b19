# Samples of road scenes from ESPNet's probabilities, without any training.
_base_ = [
    './_base_/espnet.py',
    './_base_/camvid.py',
    '../../../configs/_base_/schedules/no_training.py',
    '../../../configs/_base_/default_runtime.py',
]
model = dict(
    type='CARSegmentor',
    data_preprocessor=_base_.pixels,
    decode_head=dict(
        type='CARHead',
        num_classes=11,
        black_box=_base_.espnet_camvid,
        generator=_base_.sampler,
    ),
)
train_dataloader = None
