"""Groups of names: exact draws in two steps."""

import pytest
import torch

from mmcar.models import GumbelSampler, RefinementUNet
from mmcar.sampling.groups import all_groups
from mmcar.utils.errors import UserError

from ..test_models.test_generators.test_samplers import (
    PROBS,
    frequencies,
)

GROUPS = ((1, 4), (0, 3))
IMAGE = torch.zeros(1, 3, 12, 20)


def random_f(classes=5):
    torch.manual_seed(0)
    return torch.randn(1, classes, 12, 20).mul(2).log_softmax(1)


def draw(sampler, log_probs, draws):
    torch.manual_seed(1)
    z = torch.randn(draws, 1, sampler.noise_size)
    state = sampler.encode(IMAGE, log_probs)
    parts = [sampler.sample_labels(state, part) for part in z.split(500)]
    return torch.cat(parts)[:, 0].long()


@pytest.mark.parametrize('length', [None, 3.0])
def test_frequencies_are_those_of_f(length):
    log_probs = random_f()
    sampler = GumbelSampler(5, correlation_length=length, groups=GROUPS)
    labels = draw(sampler, log_probs, 4000)
    found = torch.stack([(labels == k).double().mean(0) for k in range(5)])
    assert (found - log_probs[0].exp()).abs().max() < 0.04


@pytest.mark.parametrize(
    'options',
    [{}, dict(correlation_length=3.0), dict(floor=0.1)],
    ids=['numbers', 'field', 'floor'],
)
def test_labels_are_the_argmax_of_decode(options):
    sampler = GumbelSampler(5, groups=GROUPS, **options)
    state = sampler.encode(IMAGE, random_f())
    z = torch.randn(40, 1, sampler.noise_size)
    expected = sampler.decode(state, z).argmax(2)
    assert torch.equal(sampler.sample_labels(state, z).long(), expected)


@pytest.mark.parametrize('floor', [0.0, 0.1])
@pytest.mark.parametrize('length', [None, 3.0])
def test_a_group_whose_names_are_all_impossible(length, floor):
    log_probs = random_f()
    log_probs[:, [1, 4], :6] = -torch.inf
    log_probs[:, [0, 3], 3:9] = -torch.inf
    sampler = GumbelSampler(
        5, correlation_length=length, groups=GROUPS, floor=floor
    )
    state = sampler.encode(IMAGE, log_probs.log_softmax(1))
    z = torch.randn(40, 1, sampler.noise_size)
    labels = sampler.sample_labels(state, z).long()
    assert torch.equal(labels, sampler.decode(state, z).argmax(2))
    drawn = log_probs.expand(40, *log_probs.shape[1:]).gather(1, labels)
    assert drawn.isfinite().all()
    soft = GumbelSampler(
        5,
        correlation_length=length,
        groups=GROUPS,
        floor=floor,
        temperature=0.1,
    )
    assert torch.equal(soft.sample(state, z).argmax(2), labels)


def test_names_go_together_and_things_do_not():
    """F: class 1 or its twin 4 by a half each, or 0, all over the image."""
    probs = torch.tensor([0.5, 0.25, 0.0, 0.0, 0.25]).clamp_min(1e-8)
    log_probs = probs.log().view(1, 5, 1, 1).repeat(1, 1, 12, 20)
    sampler = GumbelSampler(5, correlation_length=1.5, groups=((1, 4),))
    labels = draw(sampler, log_probs, 500)
    has = torch.stack([(labels == k).flatten(1).any(1) for k in (1, 4)])
    assert not has.all(0).any()  # one name per image
    assert has.double().mean(1).tolist() == pytest.approx([0.5] * 2, abs=0.1)
    share = (labels == 0).double().flatten(1).mean(1)
    assert share.std() < 0.2  # one number per class: 0.5, all or nothing


def test_without_a_field_it_is_as_coherent_as_one_number_per_class():
    log_probs = random_f().mean((2, 3), keepdim=True).log_softmax(1)
    log_probs = log_probs.repeat(1, 1, 12, 20)
    labels = draw(GumbelSampler(5, groups=GROUPS), log_probs, 50)
    assert all(len(one.unique()) == 1 for one in labels)


def test_groups_below_the_floor_never_happen_and_names_may():
    """The rare name of a likely group is drawn, a rare group is not."""
    sampler = GumbelSampler(3, groups=((0, 2),), floor=0.3)
    found = frequencies(sampler)
    assert (found[:, 1] == 0).all() and found[:, 0].min() > 0
    share = PROBS[0] / (PROBS[0] + PROBS[2])
    assert found[0, 0].item() == pytest.approx(share.item(), abs=0.02)


def test_classes_in_no_group_are_alone():
    assert all_groups(5, GROUPS) == [[0, 3], [1, 4], [2]]
    assert all_groups(2, ()) == [[0], [1]]


@pytest.mark.parametrize(
    'wrong',
    [
        ((1, 5),),
        ((0, 1), (1, 2)),
        ((3,),),
        5,
        (4, 11),
        (('a', 'b'),),
        (range(5),),
    ],
)
def test_bad_groups_are_refused(wrong):
    with pytest.raises(UserError, match='groups='):
        GumbelSampler(5, groups=wrong)


def test_a_network_starts_as_the_sampler():
    options = dict(correlation_length=3.0, floor=0.1, groups=GROUPS)
    network = RefinementUNet(
        5, base_channels=4, noise_size=2, gumbel=options, temperature=0.05
    ).eval()
    sampler = GumbelSampler(5, **options)
    z = torch.randn(8, 1, network.noise_size)
    log_probs = random_f()
    image = torch.zeros(1, 3, 12, 20)
    found = network.sample_labels(network.encode(image, log_probs), z)
    own = z[..., : sampler.noise_size]
    expected = sampler.sample_labels(sampler.encode(image, log_probs), own)
    assert torch.equal(found, expected)


def test_gradients_reach_the_logits():
    """As they would by the scores written out one by one."""
    sampler = GumbelSampler(5, groups=GROUPS, temperature=0.5)
    log_probs = random_f().double().requires_grad_()
    z = torch.randn(2, 1, sampler.noise_size).double()
    assert torch.autograd.gradcheck(
        lambda logits: sampler.gumbel.perturb(logits, z),
        log_probs[..., :2, :2],
    )
