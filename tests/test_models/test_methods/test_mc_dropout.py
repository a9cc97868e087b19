"""Masks that come from the noise, with the right rate."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from mmseg.registry import MODELS
from torch import nn

from mmcar.models.methods.mc_dropout import seeded_dropout
from mmcar.utils.errors import UserError

from .models import CONV, METHODS


def build(calibration=None, **changes):
    head = dict(METHODS['mc_dropout']['decode_head'])
    if calibration:
        head['calibration'] = calibration
    cfg = dict(METHODS['mc_dropout'], decode_head=head) | changes
    torch.manual_seed(0)
    return MODELS.build(cfg).eval()


@pytest.mark.parametrize('layer', [nn.Dropout(0.3), nn.Dropout2d(0.3)])
def test_masks_drop_with_the_layers_rate_and_keep_the_mean(layer):
    x = torch.ones(2, 300, 4, 4)
    randoms = [np.random.default_rng(i) for i in range(2)]
    with seeded_dropout(layer.eval(), randoms):
        y = layer(x)
    torch.testing.assert_close(y.unique(), torch.tensor([0.0, 1 / 0.7]))
    assert (y == 0).float().mean() == pytest.approx(0.3, abs=0.05)
    channels = (y == 0).float().mean((2, 3))
    whole = ((channels == 0) | (channels == 1)).all()
    assert whole == isinstance(layer, nn.Dropout2d)
    assert (y[0] != y[1]).any()
    assert torch.equal(layer(x), x)  # hooks are gone


@pytest.mark.parametrize('calibration', [None, dict(CONV, dropout=0.4)])
def test_a_mask_depends_on_its_own_seed_only(calibration):
    """Not on the batch; also for layers that do not know of batches."""
    model = build(calibration)
    assert model.batched == (calibration is None)
    image = torch.randn(3, 3, 16, 16)
    seeds = torch.randn(4, 3, 2)
    state = model.encode(image)
    together = model.passes(state, seeds)
    for i in range(3):
        alone = model.passes(model.encode(image[i : i + 1]), seeds[:, i, None])
        torch.testing.assert_close(alone[:, 0], together[:, i])
    assert (together[0] - together[1]).abs().max() > 1e-3
    torch.testing.assert_close(model.passes(state, seeds), together)


def test_a_pass_is_that_of_training_with_the_same_mask():
    model = build()
    net = model.decode_head.calibration
    layer = net.decode_head.dropout
    image, seed = torch.randn(1, 3, 16, 16), torch.randn(1, 1, 2)
    found = model.passes(model.encode(image), seed)[0, 0]
    bits = seed.numpy().view(np.uint32).ravel().tolist()
    kept = np.random.default_rng(bits).random((1, 4), np.float32) >= 0.5

    def mask(module, inputs):
        return inputs[0] * torch.from_numpy(kept)[..., None, None] * 2

    with torch.no_grad():
        hook = layer.register_forward_pre_hook(mask)
        expected = net(image).log_softmax(1)[0]
        hook.remove()
    torch.testing.assert_close(found, expected)


def test_dropout_can_be_put_behind_any_module():
    name = 'backbone.encoder.1'
    model = build(dropout_after=[name], dropout=0.9)
    module = model.decode_head.calibration.get_submodule(name)
    assert module[1].p == 0.9
    with pytest.raises(UserError, match=r'backbone\.nothing'):
        build(dropout_after=['backbone.nothing'])
    with pytest.raises(UserError, match='dropout'):
        build(CONV)


def test_threads_have_masks_of_their_own():
    model = build(dropout_after=['backbone.encoder.1']).eval()
    image = torch.randn(1, 3, 16, 16)

    def draw(seed):
        (sample,) = model.predict(image, num_samples=2, seed=seed)
        return sample.sample_probs.data

    alone = [draw(seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(draw, range(8)))
    for one, other in zip(alone, together, strict=True):
        assert torch.equal(one, other)
