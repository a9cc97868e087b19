"""A black box predicts what MMSeg does, at any size of the image."""

from functools import partial

import pytest
import torch
from mmengine.config import ConfigDict
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample

from mmcar.models.black_boxes import BlackBox
from mmcar.models.data_preprocessor import InputNorm
from mmcar.structures.geometry import without_padding
from mmcar.utils.errors import UserError

from .test_live import MODELS_OF_MMSEG

FCN = 'fcn/fcn_r18-d8_4xb2-80k_cityscapes-512x1024.py'
FAMILIES = [FCN, *(c for c in MODELS_OF_MMSEG if 'segmenter' not in c)]
SMALL = [c for c in FAMILIES if 'fast' in c or 'unet' in c or 'segf' in c]
WHOLE = dict(mode='whole')
SLIDE = dict(mode='slide', crop_size=(64, 48), stride=(40, 30))
SIZES = [(1, 1), (2, 3), (15, 17), (33, 65), (97, 131)]
LARGE = [(255, 256), (584, 565), (600, 601)]
# Not exact in binary, and a padding that B's own does not know.
OUTER = dict(
    type='StochasticDataPreProcessor',
    mean=[123.675, 116.28, 103.53],
    std=[58.395, 57.12, 57.375],
    pad_val=7,
    size_divisor=32,
    test_cfg=dict(size_divisor=32),
)


def wrap(config: str, divisor: int | None) -> BlackBox:
    """A model of MMSeg with weights that make its predictions vary."""
    torch.manual_seed(0)
    resize_nothing = [dict(type='LoadImageFromFile')]
    box = BlackBox(config=f'mmseg::{config}', test_pipeline=resize_nothing)
    for weight in box.parameters():
        if weight.ndim > 1:
            torch.nn.init.kaiming_normal_(weight)
    if divisor:
        box.segmentor.data_preprocessor.test_cfg = dict(size_divisor=divisor)
    return box


def batch(raw: torch.Tensor) -> dict:
    size = tuple(raw.shape[1:])
    sample = SegDataSample(metainfo=dict(ori_shape=size, img_shape=size))
    return dict(inputs=[raw.clone()], data_samples=[sample])


def predict_wrapped(box: BlackBox, raw: torch.Tensor) -> torch.Tensor:
    outer = MODELS.build(OUTER)
    box.set_input_norm(InputNorm.of(outer))
    data = outer(batch(raw))
    probs = box(data['inputs'], data['data_samples'])
    return without_padding(probs, data['data_samples'][0].metainfo)[0]


@torch.no_grad()
def check(box: BlackBox, size: tuple[int, int]) -> bool:
    """Compare, or see that MMSeg cannot and ours says so."""
    raw = torch.randint(256, (3, *size)).byte()
    try:
        theirs = box.segmentor.test_step(batch(raw))[0].seg_logits.data
    except (AssertionError, RuntimeError):
        for predict in (partial(predict_wrapped, box), box.predict_file):
            with pytest.raises(UserError, match=r'cannot take images of \('):
                predict(raw)
        return False
    expected = theirs.softmax(0)
    assert len(expected) == 19 and expected.std() > 1e-4
    close = dict(atol=1e-6, rtol=0)
    torch.testing.assert_close(predict_wrapped(box, raw), expected, **close)
    torch.testing.assert_close(box.predict_file(raw)[0], expected, **close)
    return True


@pytest.mark.parametrize(
    ('config', 'mode'), zip(SMALL, (WHOLE, SLIDE, SLIDE), strict=True)
)
def test_equal(config, mode):
    box = wrap(config, 16 if 'unet' in config else None)
    box.segmentor.test_cfg = ConfigDict(mode)
    sizes = SIZES[:3] if 'unet' in config else SIZES[2:]  # a slow one
    assert [check(box, size) for size in sizes].count(True) >= 2


def test_a_size_that_mmseg_refuses():
    box = wrap(next(c for c in FAMILIES if 'unet' in c), None)
    assert not check(box, (33, 65))


@pytest.mark.slow
@pytest.mark.parametrize('mode', [WHOLE, SLIDE], ids=['whole', 'slide'])
@pytest.mark.parametrize('config', FAMILIES)
def test_every_family_at_odd_sizes(config, mode):
    box = wrap(config, 16 if 'unet' in config else None)
    test_cfg = ConfigDict(mode)
    if mode is SLIDE:
        test_cfg.update(crop_size=(256, 192), stride=(170, 128))
    box.segmentor.test_cfg = test_cfg
    assert [check(box, s) for s in (*SIZES, *LARGE)].count(True) >= 5
