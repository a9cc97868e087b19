"""The door to training-free sampling: the samples of a model, and exact."""

import pytest
import torch

from mmcar.sampling import SobolNoise, sample_labels
from mmcar.utils.errors import UserError
from tests.toys import toy_batch, toy_config, toy_model


@pytest.mark.parametrize(
    ('options', 'noise'),
    [
        ({}, None),
        (dict(correlation_length=4.0, common=0.3), None),
        (dict(floor=0.2), 'SobolNoise'),
        (dict(groups=[(0, 2)], floor=0.1), None),
    ],
)
def test_samples_are_those_of_a_model(options, noise):
    head = toy_config()['decode_head']
    head.update(num_classes=3, generator=dict(type='GumbelSampler', **options))
    own = {} if noise is None else dict(noise=dict(type=noise))
    model = toy_model(decode_head=head, discriminator=None, **own).eval()
    model.test_cfg.update(seed=7)
    batch = toy_batch(num_classes=3)
    for name, sample in zip('ab', batch['data_samples'], strict=True):
        sample.set_metainfo(dict(sample_key=name))
    predicted = model.test_step(batch)
    log_probs = torch.stack([s.seg_logits.data for s in predicted])
    drawn = sample_labels(
        log_probs,
        5,
        seed=7,
        keys=['a', 'b'],
        noise=SobolNoise() if noise else None,
        **options,
    )
    assert drawn.shape == (5, 2, 16, 16) and drawn.dtype == torch.uint8
    for maps, sample in zip(drawn.unbind(1), predicted, strict=True):
        assert torch.equal(maps, sample.pred_samples.data)
    assert len(drawn.unique()) == 3


def test_frequencies_are_probabilities():
    probs = torch.tensor([[0.7, 0.2, 0.1], [0.05, 0.05, 0.9]])
    log_probs = probs.log().view(2, 3, 1, 1).expand(2, 3, 4, 5)
    drawn = sample_labels(log_probs, 4000)
    for k in range(3):
        shares = (drawn == k).float().mean(0)
        assert (shares - probs[:, k].view(2, 1, 1)).abs().max() < 0.03


def test_an_image_is_known_by_its_content():
    log_probs = torch.randn(2, 3, 8, 8).log_softmax(1)
    drawn = sample_labels(log_probs, 6)
    assert torch.equal(drawn, sample_labels(log_probs.flip(0), 6).flip(1))
    assert torch.equal(drawn[:4], sample_labels(log_probs, 4))
    assert not torch.equal(drawn, sample_labels(log_probs, 6, seed=1))


def test_what_does_not_fit_is_refused():
    with pytest.raises(UserError, match=r'\(3, 8, 8\)'):
        sample_labels(torch.zeros(3, 8, 8))
    with pytest.raises(UserError, match='1 keys for 2 images'):
        sample_labels(torch.zeros(2, 3, 8, 8), keys=['a'])
