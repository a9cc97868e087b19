# The black box of the paper's Cityscapes experiment, with MMSeg's own weights.
deeplabv3 = dict(
    type='BlackBox',
    config='mmseg::deeplabv3/deeplabv3_r50-d8_4xb2-80k_cityscapes-512x1024.py',
    checkpoint='pretrained',
)
