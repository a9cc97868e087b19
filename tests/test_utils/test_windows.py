"""Windows cover the image; what they say of a pixel is averaged."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcar.utils.windows import iter_windows, stitch, windows
from tests.toys import toy_batch, toy_config, toy_model

SIDE = st.integers(1, 9)


@settings(max_examples=40)
@given(size=st.tuples(SIDE, SIDE), crop=st.tuples(SIDE, SIDE), data=st.data())
def test_mean_over_the_windows_of_each_pixel(size, crop, data):
    stride = tuple(data.draw(st.integers(1, side)) for side in crop)
    inputs = torch.rand(1, 1, *size)
    # A window's answer depends on where the window begins.
    prior = torch.rand(1, 1, *size)
    found = stitch(
        lambda x, y: x + x[..., :1, :1] + y, inputs, prior, (crop, stride)
    )
    for y in range(size[0]):
        for x in range(size[1]):
            values = [
                inputs[0, 0, y, x] + inputs[0, 0, rows.start, columns.start]
                for rows, columns in iter_windows(size, crop, stride)
                if rows.start <= y < rows.stop
                and columns.start <= x < columns.stop
            ]
            assert values, 'a pixel without a window'
            expected = torch.stack(values).mean()
            expected += prior[0, 0, y, x]
            torch.testing.assert_close(found[0, 0, y, x], expected)


NET = dict(type='ConvCalibration', channels=4)


def slide(crop, stride=None):
    return dict(
        mode='slide', crop_size=crop, stride=stride or crop, num_samples=5
    )


def test_one_draw_covers_all_windows():
    """F in windows; its stitched probabilities, not samples, are averaged."""
    net = NET | dict(num_blocks=1, norm_cfg=None, dropout=0.0)
    head = dict(type='CARHead', num_classes=2, calibration=net)
    head['generator'] = dict(type='GumbelSampler')
    whole = toy_model(decode_head=head, test_cfg=dict(num_samples=5)).eval()
    # One 3x3 convolution: windows of 8 agree with the whole inside.
    parts = toy_model(decode_head=head, test_cfg=slide((8, 8), (4, 4))).eval()
    for one, other in zip(
        whole.test_step(toy_batch()), parts.test_step(toy_batch()), strict=True
    ):
        assert not torch.equal(one.seg_logits.data, other.seg_logits.data)
        log_probs, samples = other.seg_logits.data, other.pred_samples.data
        z = parts.draw_noise(torch.zeros(1, 3, 16, 16), [other], 5, (0,))
        gumbel = parts.decode_head.generator.gumbel
        expected = gumbel.perturb(log_probs, z)[:, 0].argmax(1)
        assert (expected == samples).float().mean() > 0.99


def test_too_large_images_are_seen_in_windows_by_themselves(monkeypatch):
    cfg = slide((8, 8), (4, 4))
    expected = toy_model(test_cfg=cfg).eval().test_step(toy_batch())
    monkeypatch.setattr('mmcar.utils.windows.LARGE', ((8, 8), (4, 4)))
    for limit, same in ((16 * 16, False), (16 * 16 - 1, True)):
        monkeypatch.setattr('mmcar.utils.windows.WHOLE', limit)
        found = toy_model().eval().test_step(toy_batch())
        for one, other in zip(expected, found, strict=True):
            alike = torch.equal(one.seg_logits.data, other.seg_logits.data)
            assert alike == same


UNET = dict(type='RefinementUNet', noise_size=4, base_channels=4, depth=2)


@pytest.mark.parametrize(
    'generator',
    [UNET, UNET | dict(gumbel={}), dict(type='TunedSampler', net=NET)],
    ids=['UNet', 'recipe', 'tuned'],
)
def test_a_generator_in_one_window_draws_what_it_draws_at_once(
    generator, monkeypatch
):
    head = toy_config()['decode_head'] | dict(generator=generator)
    model = toy_model(decode_head=head).eval()
    for weight in model.decode_head.generator.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    expected = model.test_step(toy_batch())
    monkeypatch.setattr('mmcar.utils.windows.LARGE', ((16, 16), (16, 16)))
    monkeypatch.setattr('mmcar.utils.windows.WHOLE', 1)
    found = model.test_step(toy_batch())
    for one, other in zip(expected, found, strict=True):
        torch.testing.assert_close(
            one.sample_probs.data, other.sample_probs.data
        )
        assert torch.equal(one.pred_samples.data, other.pred_samples.data)
    monkeypatch.setattr('mmcar.utils.windows.LARGE', ((8, 8), (4, 4)))
    (other, _) = model.test_step(toy_batch())
    assert not torch.equal(other.sample_probs.data, one.sample_probs.data)


def test_strides_that_are_not_given():
    assert windows(None, None) is None
    assert windows((30, 60), None) == ((30, 60), (20, 40))
    with pytest.raises(ValueError, match='without window'):
        windows(None, (4, 4))
