# The same on Cityscapes, with the weights for it.
_base_ = [
    './_base_/espnet.py',
    'mmseg::_base_/datasets/cityscapes_1024x1024.py',
    '../../../configs/_base_/schedules/no_training.py',
    '../../../configs/_base_/default_runtime.py',
]
model = dict(
    type='CARSegmentor',
    data_preprocessor=_base_.pixels,
    decode_head=dict(
        type='CARHead',
        num_classes=19,
        black_box=_base_.espnet_cityscapes,
        generator=_base_.sampler,
    ),
)
train_dataloader = None
