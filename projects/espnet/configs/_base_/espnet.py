# ESPNet as its authors trained it. What they took off CamVid's pixels is not
# published: mean and deviation here are those of our training frames. Their
# code divides by 255 after the deviation.
camvid_std = [70.83 * 255, 71.32 * 255, 68.56 * 255]
espnet_camvid = dict(
    type='TorchBlackBox',
    module='projects.espnet.espnet.models:camvid',
    checkpoint='data/espnet/espnet_p_2_q_8_camvid.pth',
    bgr=True,
    mean=[110.44, 108.52, 105.15],
    std=camvid_std,
    size=(360, 480),
)
cityscapes_std = [45.3192 * 255, 46.1529 * 255, 44.9148 * 255]
espnet_cityscapes = dict(
    type='TorchBlackBox',
    module='projects.espnet.espnet.models:cityscapes',
    checkpoint='data/espnet/espnet_p_2_q_8.pth',
    bgr=True,
    mean=[72.3923, 82.9089, 73.1584],
    std=cityscapes_std,
    size=(512, 1024),
)
# B's predictions of the images as they lie on disk, for F at 48x64.
cached = dict(
    type='LoadBlackBoxProbs',
    root='data/espnet/black_box',
    form='probs',
    scale=(64, 48),
)
# Images as they are: the black box normalises them itself.
pixels = dict(
    type='StochasticDataPreProcessor', size_divisor=1, seg_pad_val=255
)
sampler = dict(type='GumbelSampler', correlation_length=32.0, floor=0.02)
