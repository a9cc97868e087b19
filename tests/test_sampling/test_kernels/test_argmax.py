"""The running maximum is argmax, whatever the size and the ties."""

import pytest
import torch

from mmcar.models.generators import GumbelSampler
from mmcar.sampling.kernels import class_argmax, class_counts


@pytest.mark.parametrize(
    ('size', 'classes'),
    [((1, 1), 300), ((5, 7), 2), ((130, 257), 5), ((2, 33000), 2)],
)
def test_class_argmax_is_argmax(size, classes):
    torch.manual_seed(0)
    scores = torch.randint(7, (2, classes, *size)).float()  # many ties
    labels = class_argmax(scores)
    assert labels.dtype == (torch.uint8 if classes < 256 else torch.int16)
    assert torch.equal(labels.long(), scores.argmax(1))


def test_class_argmax_of_some_classes():
    scores = torch.randn(2, 3, 40, 50)
    found = class_argmax(scores, [1, 4, 300])
    expected = torch.tensor([1, 4, 300])[scores.argmax(1)]
    assert found.dtype == torch.int16 and torch.equal(found.long(), expected)
    on_meta = class_argmax(scores.to('meta'), [1, 4])
    assert on_meta.shape == (2, 40, 50) and on_meta.dtype == torch.uint8


def test_class_argmax_of_any_memory_format_and_type():
    torch.manual_seed(0)
    scores = torch.randn(2, 5, 40, 130)
    last = scores.to(memory_format=torch.channels_last)
    assert torch.equal(class_argmax(last).long(), scores.argmax(1))
    inner = scores[..., 3:-4, 5:-6]  # as padding is cut off
    assert torch.equal(class_argmax(inner).long(), inner.argmax(1))
    half = scores.bfloat16()
    assert torch.equal(class_argmax(half).long(), half.argmax(1))


@pytest.mark.parametrize('samples', [1, 3, 300])
def test_class_counts(samples):
    torch.manual_seed(0)
    labels = torch.randint(4, (samples, 130, 9), dtype=torch.uint8)
    labels = labels[..., :7]
    counts = class_counts(labels, 5)
    expected = torch.stack([(labels == k).sum(0).float() for k in range(5)])
    assert torch.equal(counts, expected)


@pytest.mark.parametrize(
    ('field', 'sharpness'),
    [
        ({}, 2.0),
        ({'correlation_length': 9.0}, 0.1),
        ({'correlation_length': 9.0, 'common': 0.4}, 30.0),
    ],
)
def test_training_free_labels_are_the_argmax_of_all_sums(field, sharpness):
    torch.manual_seed(0)
    sampler = GumbelSampler(5, **field)
    logits = torch.randn(2, 5, 10, 15).repeat_interleave(14, 2)
    log_probs = (sharpness * logits.repeat_interleave(13, 3)).log_softmax(1)
    log_probs[0, 3, :50] = -torch.inf  # an impossible class
    z = torch.randn(6, 2, sampler.noise_size)
    labels = sampler.sample_labels(log_probs, z)
    assert torch.equal(labels.long(), sampler.decode(log_probs, z).argmax(2))
    assert len(labels.unique()) == 5


def test_fields_of_many_classes():
    torch.manual_seed(0)
    sampler = GumbelSampler(300, correlation_length=3.0)
    log_probs = torch.zeros(1, 300, 9, 70).log_softmax(1)  # all are close
    z = torch.randn(2, 1, sampler.noise_size)
    labels = sampler.sample_labels(log_probs, z)
    assert torch.equal(labels.long(), sampler.decode(log_probs, z).argmax(2))
    assert labels.max() > 255
