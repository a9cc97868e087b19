"""The door to training-free sampling: the samples of a model, and exact."""

import numpy as np
import pytest
import torch

from mmcar import sample_labels
from mmcar.utils.errors import UserError
from tests.toys import toy_batch, toy_config, toy_model

LOGITS = torch.randn(2, 3, 6, 7, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ('options', 'noise', 'kind'),
    [
        (dict(correlation_length=4.0, common=0.3), 'normal', 'logits'),
        (dict(floor=0.2), 'sobol', 'probs'),
        (dict(groups=[(0, 2)], floor=0.1), 'normal', 'probs'),
    ],
)
def test_samples_are_those_of_a_model(options, noise, kind):
    head = toy_config()['decode_head']
    generator = dict(type='GumbelSampler', **options)
    head.update(num_classes=3, generator=generator, temperature=0.8)
    noise_cfg = dict(type=f'{noise.capitalize()}Noise')
    model = toy_model(decode_head=head, discriminator=None, noise=noise_cfg)
    model.eval().test_cfg.update(seed=7)
    batch = toy_batch(num_classes=3)
    for name, sample in zip('ab', batch['data_samples'], strict=True):
        sample.set_metainfo(dict(sample_key=name))
    predicted = model.test_step(batch)
    # F's logits before their temperature, but for a constant.
    logits = 0.8 * torch.stack([s.seg_logits.data for s in predicted])
    drawn = sample_labels(
        logits.softmax(1) if kind == 'probs' else logits,
        5,
        seed=7,
        kind=kind,
        keys=['a', 'b'],
        noise=noise,
        temperature=0.8,
        **options,
    )
    assert drawn.shape == (2, 5, 16, 16) and drawn.dtype == torch.uint8
    for maps, sample in zip(drawn, predicted, strict=True):
        assert torch.equal(maps, sample.pred_samples.data)
    assert len(drawn.unique()) == 3


@pytest.mark.parametrize('noise', ['normal', 'sobol'])
def test_frequencies_are_probabilities(noise):
    probs = LOGITS.softmax(1)
    drawn = sample_labels(probs, 2000, noise=noise)
    shares = torch.nn.functional.one_hot(drawn.long(), 3).float().mean(1)
    error = (probs * (1 - probs) / 2000).sqrt()
    assert ((shares.movedim(-1, 1) - probs).abs() < 5 * error).all()


def test_an_image_is_known_by_its_content():
    drawn = sample_labels(LOGITS, 6)
    assert torch.equal(drawn, sample_labels(LOGITS.flip(0), 6).flip(0))
    assert torch.equal(drawn[1:], sample_labels(LOGITS[1:], 6))
    assert torch.equal(drawn[:, :4], sample_labels(LOGITS, 4))
    assert not torch.equal(drawn, sample_labels(LOGITS, 6, seed=1))


def test_arrays_and_tensors_of_any_precision():
    drawn = sample_labels(LOGITS, 6, keys=['a', 'b'])
    wide = LOGITS.double().numpy()[..., ::-1]
    array = sample_labels(wide, 6, keys=['a', 'b'])
    assert isinstance(array, np.ndarray)
    wider = sample_labels(wide, np.int64(6), np.int64(0), keys=['a', 'b'])
    assert (wider == array).all()
    assert (array[..., ::-1] == drawn.numpy()).all()
    halves = LOGITS.softmax(1).to(torch.bfloat16)
    again = sample_labels(halves, 6, keys=['a', 'b'])
    assert (again == drawn).float().mean() > 0.95


def test_values_are_told_apart_or_refused():
    keys, probs = dict(keys=['a', 'b']), LOGITS.softmax(1)
    drawn = sample_labels(LOGITS, 6, **keys)
    assert torch.equal(sample_labels(probs, 6, **keys), drawn)
    assert torch.equal(sample_labels(probs.log(), 6, **keys), drawn)
    small = LOGITS.sigmoid()
    found = sample_labels(small, 6, kind='logits', **keys)
    assert torch.equal(found, sample_labels(small + 5, 6, **keys))
    channels_last = probs.permute(0, 2, 3, 1)
    for wrong in (small, channels_last, small.clamp(0.2, 0.9)):
        with pytest.raises(UserError, match='kind='):
            sample_labels(wrong, 6)
    with pytest.raises(UserError, match='probs'):
        sample_labels(LOGITS, 6, kind='probs')


@pytest.mark.parametrize(
    ('given', 'options', 'named'),
    [
        (LOGITS[:, :1], {}, r'\(2, 1, 6, 7\)'),
        (LOGITS.int(), {}, 'int32'),
        (LOGITS.tolist(), {}, 'list'),
        (LOGITS / 0, {}, 'NaN'),
        (LOGITS - torch.inf, {}, 'impossible'),
        (LOGITS, dict(keys=['a']), 'keys='),
        (LOGITS, dict(keys='ab'), 'keys='),
        (LOGITS, dict(kind='log'), 'kind='),
        (LOGITS, dict(noise='uniform'), 'noise='),
        (LOGITS, dict(temperature=0.0), 'temperature='),
        (LOGITS, dict(num_samples=0), 'num_samples=0'),
        (LOGITS, dict(seed='a'), 'seed='),
        (LOGITS, dict(correlation_length='a'), 'correlation_length='),
        (LOGITS + 0j, {}, 'complex'),
    ],
)
def test_what_does_not_fit_is_refused(given, options, named):
    with pytest.raises(UserError, match=named):
        sample_labels(given, **(dict(num_samples=4) | options))
