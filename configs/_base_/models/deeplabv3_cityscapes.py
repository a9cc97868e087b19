# A black box as good as that of the paper's Cityscapes experiment (mIoU 0.79):
# MMSeg's DeepLabV3 with MMSeg's weights, which has 79.32.
deeplabv3 = dict(
    type='BlackBox',
    config='mmseg::deeplabv3/deeplabv3_r50-d8_4xb2-80k_cityscapes-512x1024.py',
    checkpoint='pretrained',
)
