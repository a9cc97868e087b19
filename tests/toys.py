"""Small models and batches that many tests share."""

import copy

import torch
from mmengine.optim import OptimWrapper, OptimWrapperDict
from mmengine.structures import PixelData
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample


def toy_config(**model) -> dict:
    """Config of a small CAR model of two classes, with keys replaced."""
    cfg = dict(
        type='CARSegmentor',
        data_preprocessor=dict(
            type='SegDataPreProcessor',
            mean=[127.5] * 3,
            std=[127.5] * 3,
            seg_pad_val=255,
            size_divisor=1,
        ),
        decode_head=dict(
            type='CARHead',
            num_classes=2,
            calibration=dict(
                type='ConvCalibration', in_channels=3, channels=4
            ),
            generator=dict(
                type='RefinementUNet', noise_size=4, base_channels=4, depth=2
            ),
        ),
        discriminator=dict(type='DCGANDiscriminator', base_channels=4),
        train_cfg=dict(num_samples=3),
        test_cfg=dict(num_samples=5),
    )
    cfg.update(copy.deepcopy(model))
    return cfg


def toy_parts(norm: str = 'BN', **head) -> dict:
    """Backbone and decode head of MMSeg that halve the size once."""
    unet = dict(type='UNet', base_channels=4, num_stages=2, strides=(1, 1))
    encoder = dict(enc_num_convs=(1, 1), enc_dilations=(1, 1))
    decoder = dict(dec_num_convs=(1,), dec_dilations=(1,), downsamples=(True,))
    fcn = dict(type='FCNHead', in_channels=4, in_index=1, channels=4)
    return dict(
        backbone=unet | encoder | decoder | dict(norm_cfg=dict(type=norm)),
        decode_head=fcn | dict(num_convs=1) | head,
    )


def toy_model(**model) -> torch.nn.Module:
    torch.manual_seed(0)
    built = MODELS.build(toy_config(**model))
    built.init_weights()
    return built


def toy_batch(
    size=(16, 16), batch_size=2, annotators=3, num_classes=2, seed=0
) -> dict:
    """A batch as the data loader gives it, with some ignored pixels."""
    generator = torch.Generator().manual_seed(seed)

    def random_ids(*shape):
        return torch.randint(num_classes, shape, generator=generator)

    samples, images = [], []
    for i in range(batch_size):
        labels = random_ids(annotators, *size)
        labels[:, :2, :2] = 255
        sample = SegDataSample(
            metainfo=dict(
                img_path=f'toy/{i}.png', ori_shape=size, img_shape=size
            )
        )
        sample.gt_sem_seg = PixelData(data=labels[:1].clone())
        sample.gt_sem_segs = PixelData(data=labels.to(torch.uint8))
        samples.append(sample)
        images.append(
            torch.randint(256, (3, *size), generator=generator).byte()
        )
    return dict(inputs=images, data_samples=samples)


def toy_optims(model, lr=1e-2) -> OptimWrapperDict:
    return OptimWrapperDict(
        **{
            name: OptimWrapper(torch.optim.Adam(network.parameters(), lr=lr))
            for name, network in model.networks().items()
        }
    )
