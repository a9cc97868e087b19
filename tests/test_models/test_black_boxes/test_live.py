"""The black box in every form, MMSeg's own models included."""

import copy

import pytest
import torch
from mmengine.config import ConfigDict
from mmseg.registry import MODELS

from mmcar.models.black_boxes import BlackBox
from mmcar.models.black_boxes.mmseg_model import find_model
from mmcar.models.data_preprocessor import InputNorm
from tests.toys import toy_batch, toy_config, toy_model, toy_optims, toy_parts

MODELS_OF_MMSEG = [
    'bisenetv1/bisenetv1_r18-d32_4xb4-160k_cityscapes-1024x1024.py',
    'bisenetv2/bisenetv2_fcn_4xb4-160k_cityscapes-1024x1024.py',
    'deeplabv3/deeplabv3_r18-d8_4xb2-80k_cityscapes-512x1024.py',
    'deeplabv3plus/deeplabv3plus_r18-d8_4xb2-80k_cityscapes-512x1024.py',
    'fastscnn/fast_scnn_8xb4-160k_cityscapes-512x1024.py',
    'pspnet/pspnet_r18-d8_4xb2-80k_cityscapes-512x1024.py',
    'segformer/segformer_mit-b0_8xb1-160k_cityscapes-1024x1024.py',
    'segmenter/segmenter_vit-t_mask_8xb1-160k_ade20k-512x512.py',
    'unet/unet-s5-d16_fcn_4xb4-160k_cityscapes-512x1024.py',
    'upernet/upernet_r18_4xb2-40k_cityscapes-512x1024.py',
]
SOON = [MODELS_OF_MMSEG[i] for i in (2, 4, 7)]
LARGER = [
    'ddrnet/ddrnet_23-slim_in1k-pre_2xb6-120k_cityscapes-1024x1024.py',
    'knet/knet-s3_r50-d8_upernet_8xb2-adamw-80k_ade20k-512x512.py',
    'ocrnet/ocrnet_hr18s_4xb2-80k_cityscapes-512x1024.py',
    'pidnet/pidnet-s_2xb6-120k_1024x1024-cityscapes.py',
    'swin/swin-tiny-patch4-window7-in1k-pre_upernet_8xb2-160k_ade20k-'
    '512x512.py',
    'vit/vit_vit-b16_mln_upernet_8xb2-80k_ade20k-512x512.py',
]
NORM = dict(
    type='SegDataPreProcessor',
    mean=[100.0, 110.0, 120.0],
    std=[50.0, 60.0, 70.0],
    bgr_to_rgb=True,
)


def parts(**head):
    return toy_parts('SyncBN', **(dict(num_classes=3) | head))


def encoder_decoder(**more):
    return dict(type='EncoderDecoder', **parts(), **more)


def reference(segmentor, image):
    """What MMSeg itself makes of an image that is already normalised."""
    predicted = segmentor.eval().predict(image)
    return torch.stack([p.seg_logits.data for p in predicted])


@pytest.mark.parametrize(
    'config',
    [
        pytest.param(c, marks=() if c in SOON else pytest.mark.slow)
        for c in MODELS_OF_MMSEG + LARGER
    ],
)
def test_models_of_mmseg(config):
    """Each builds without download, trains every phase, and samples."""
    head = toy_config()['decode_head']
    head['black_box'] = dict(type='BlackBox', config=f'mmseg::{config}')
    model = toy_model(decode_head=head)
    black_box = model.decode_head.black_box
    model.train()
    assert not any(module.training for module in black_box.modules())
    before = {k: v.clone() for k, v in black_box.state_dict().items()}
    optims = toy_optims(model)
    for phase in ('calibration', 'generator', 'discriminator'):
        data = toy_batch(size=(64, 64), batch_size=1)
        log = model.train_step(data, {phase: optims[phase]})
        assert all(torch.isfinite(torch.as_tensor(v)) for v in log.values())
    for key, value in black_box.state_dict().items():
        assert torch.equal(value, before[key]), key
    probs = black_box(torch.randn(1, 3, 64, 96))
    assert probs.shape == (1, 150 if 'ade20k' in config else 19, 64, 96)
    assert torch.allclose(probs.sum(1), torch.ones(1, 64, 96), atol=1e-5)
    data = toy_batch(size=(64, 64), batch_size=1)
    (sample,) = model.eval().test_step(data)
    assert sample.pred_samples.data.shape == (5, 64, 64)


def columns(*values):
    return [torch.tensor(value).view(3, 1, 1) for value in values]


class TestForms:
    def test_all_forms_agree(self, tmp_path):
        """The same weights through each form, normalised as B knows it."""
        torch.manual_seed(0)
        whole = ConfigDict(mode='whole')
        segmentor = MODELS.build(encoder_decoder(test_cfg=whole))
        weights = tmp_path / 'b.pth'
        torch.save(dict(state_dict=segmentor.state_dict()), weights)
        path = tmp_path / 'b.py'
        inside = encoder_decoder(data_preprocessor=NORM)
        beside = tmp_path / 'beside.py'
        path.write_text(f'model = {inside!r}\n')
        beside.write_text(
            f'model = {encoder_decoder()!r}\ndata_preprocessor = {NORM!r}\n'
        )
        forms = [
            dict(segmentor=inside),
            dict(segmentor=encoder_decoder(), data_preprocessor=NORM),
            dict(**parts(), data_preprocessor=NORM),
            dict(config=str(path)),
            dict(config=str(beside)),
        ]
        raw = torch.randint(256, (2, 3, 16, 24)).float()  # BGR
        mean, std = columns(NORM['mean'], NORM['std'])
        own = (raw.flip(1) - mean) / std
        expected = reference(segmentor, own).softmax(1)
        for form in forms:
            box = BlackBox(**form, checkpoint=str(weights))
            assert torch.allclose(box(raw), expected, atol=1e-5)
            # Two outer normalisations, with and without RGB.
            mean, std = columns([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
            for swapped, pixels in ((False, raw), (True, raw.flip(1))):
                box.set_input_norm(InputNorm(mean, std, swapped))
                found = box((pixels - mean) / std)
                assert torch.allclose(found, expected, atol=1e-4)

    def test_binary_head(self):
        box = BlackBox(**parts(out_channels=1, num_classes=2, threshold=0.5))
        image = torch.randn(2, 3, 16, 16)
        foreground = reference(box.segmentor, image)  # MMSeg's sigmoid
        expected = torch.cat([1 - foreground, foreground], dim=1)
        assert box.num_classes == 2
        assert torch.allclose(box(image), expected, atol=1e-6)

    @pytest.mark.parametrize(
        'form',
        [
            dict(),
            dict(decode_head=parts()['decode_head']),
            dict(segmentor=encoder_decoder(), **parts()),
        ],
    )
    def test_exactly_one_form(self, form):
        with pytest.raises(ValueError, match='black_box takes one of'):
            BlackBox(**form)


class TestFrozen:
    def test_initialisation_keeps_the_weights(self):
        head = toy_config()['decode_head']
        head['black_box'] = dict(type='BlackBox', **parts())
        model = MODELS.build(toy_config(decode_head=head))
        before = copy.deepcopy(model.decode_head.black_box.state_dict())
        model.init_weights()
        after = model.decode_head.black_box.state_dict()
        assert all(torch.equal(after[key], before[key]) for key in after)

    def test_auxiliary_head_is_dropped(self):
        auxiliary = dict(parts()['decode_head'], in_index=0, in_channels=8)
        box = BlackBox(segmentor=encoder_decoder(auxiliary_head=auxiliary))
        assert not any('auxiliary' in key for key in box.state_dict())


class TestCheckpoint:
    def test_missing_files(self):
        with pytest.raises(FileNotFoundError, match=r'box\.checkpoint.*no'):
            BlackBox(**parts(), checkpoint='no')
        for path in ('no.py', 'mmseg::deeplabv3/no.py'):
            with pytest.raises(FileNotFoundError, match=f'box.config.*{path}'):
                BlackBox(config=path)

    def test_weights_of_mmseg_are_looked_up(self):
        config = f'mmseg::{MODELS_OF_MMSEG[1]}'
        found = find_model(dict(config=config, checkpoint='pretrained'))
        assert found.weights.startswith('https://')
        assert 'bisenetv2' in found.weights


@pytest.mark.parametrize(
    'test_cfg', [dict(mode='slid'), dict(mode='slide', crop_size=(8, 8))]
)
def test_windows_that_cannot_be(test_cfg):
    segmentor = dict(type='EncoderDecoder', **parts(), test_cfg=test_cfg)
    with pytest.raises(ValueError, match=r'segmentor\.test_cfg\.\w+='):
        BlackBox(segmentor=segmentor)
