"""Gumbel noise: shared numbers, fields, groups of names; all draws exact."""

import itertools
import math
from functools import partial

import pytest
import torch
from scipy import stats

from mmcar.models import GumbelSampler
from mmcar.sampling.gumbel import (
    SharedGumbel,
    WeightedField,
    drop_unlikely,
    gumbel_from_normal,
    unit_norm,
)
from mmcar.utils.errors import UserError

from ..test_models.test_generators.test_samplers import PROBS, frequencies


def test_matches_scipy_quantiles():
    normal = torch.linspace(-6, 6, 49, dtype=torch.float64)
    expected = stats.gumbel_r.isf(stats.norm.sf(normal.numpy()))
    expected = torch.from_numpy(expected)
    assert torch.allclose(gumbel_from_normal(normal), expected, rtol=1e-6)
    single = gumbel_from_normal(normal.float()).double()
    assert torch.allclose(single, expected, atol=1e-3)
    extreme = torch.tensor([-1e6, -40.0, 0.0, 40.0, 1e6])
    g = gumbel_from_normal(extreme)
    assert g.isfinite().all()
    assert (g.diff() >= 0).all()


def waves_of(z, gumbel, size):
    """A field pixel by pixel and wave by wave, of one sample's noise (d,)."""
    waves = gumbel.num_features
    own, (v, u) = z[: -2 * waves], z[-2 * waves :].view(2, waves).double()
    own = own.view(gumbel.num_classes, -1).double()
    field = torch.zeros(gumbel.num_classes, *size).double()
    for k, y, x, r in itertools.product(*map(range, (*field.shape, waves))):
        phase = (v[r] * y + u[r] * x) / gumbel.correlation_length
        wave = own[k, r] * phase.cos() + own[k, waves + r] * phase.sin()
        field[k, y, x] += wave / math.sqrt(waves)
    if gumbel.common:
        field *= math.sqrt(1 - gumbel.common)
        field += math.sqrt(gumbel.common) * own[:, -1, None, None]
    return field


@pytest.mark.parametrize('common', [0.0, 0.3])
def test_field_is_a_sum_of_waves(common):
    """Of the whole and of a tile, also under autocast."""
    torch.manual_seed(0)
    gumbel = SharedGumbel(2, 4.0, num_features=3, common=common)
    assert gumbel.noise_size == 2 * (2 * 3 + bool(common)) + 2 * 3
    z = torch.randn(2, 2, gumbel.noise_size)
    with torch.autocast('cpu', torch.bfloat16):
        whole = gumbel.normal(z, (slice(0, 4), slice(0, 5)))
        tile = gumbel.normal(z, (slice(2, 4), slice(1, 5)))
    for s, b in itertools.product(range(2), range(2)):
        expected = waves_of(z[s, b], gumbel, (4, 5)).float()
        torch.testing.assert_close(whole[s, b], expected)
    torch.testing.assert_close(tile, whole[..., 2:4, 1:5])


def test_field_has_unit_variance_and_the_asked_correlation():
    """At every distance: no place far away agrees again."""
    torch.manual_seed(0)
    length, draws, side, common = 6.0, 3000, 54, 0.3
    gumbel = SharedGumbel(2, correlation_length=length, common=common)
    rows, columns = torch.meshgrid(*[torch.arange(side)] * 2, indexing='ij')
    whole = slice(0, side), slice(0, side)
    sums = torch.zeros(2, side, side)
    for z in torch.randn(draws, 1, gumbel.noise_size).split(500):
        field = gumbel.normal(z, whole)[:, 0, 1]  # (draws, H, W)
        sums[0] += field.square().sum(0)
        sums[1] += (field * field[:, :1, :1]).sum(0)
    variance, covariance = sums / draws
    own = torch.exp(-(rows**2 + columns**2) / (2 * length**2))
    wanted = common + (1 - common) * own
    # Five and more standard errors of a mean of so many products.
    assert (variance - 1).abs().max() < 0.15
    assert (covariance - wanted).abs().max() < 0.12
    assert (covariance - wanted).mean().abs() < 0.04


def test_unlikely_classes_are_left_out_and_nothing_else():
    probs = torch.tensor([0.01, 0.02, 0.03, 0.94]).view(1, 4, 1, 1)
    log_probs = probs.log()
    assert drop_unlikely(log_probs, 0.0) is log_probs
    kept = drop_unlikely(log_probs, 0.02).flatten().exp()
    assert kept.tolist() == [0, *log_probs.flatten().exp().tolist()[1:]]


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
    labels = draw(sampler, log_probs, 2000)
    found = torch.stack([(labels == k).double().mean(0) for k in range(5)])
    assert (found - log_probs[0].exp()).abs().max() < 0.055


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


@pytest.mark.parametrize(('length', 'floor'), [(None, 0.1), (3.0, 0.0)])
def test_a_group_whose_names_are_all_impossible(length, floor):
    log_probs = random_f()
    log_probs[:, [1, 4], :6] = -torch.inf
    log_probs[:, [0, 3], 3:9] = -torch.inf
    options = dict(correlation_length=length, groups=GROUPS, floor=floor)
    sampler = GumbelSampler(5, **options)
    state = sampler.encode(IMAGE, log_probs.log_softmax(1))
    z = torch.randn(40, 1, sampler.noise_size)
    labels = sampler.sample_labels(state, z).long()
    assert torch.equal(labels, sampler.decode(state, z).argmax(2))
    drawn = log_probs.expand(40, *log_probs.shape[1:]).gather(1, labels)
    assert drawn.isfinite().all()
    soft = GumbelSampler(5, temperature=0.1, **options)
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


def test_groups_below_the_floor_never_happen_and_names_may():
    """The rare name of a likely group is drawn, a rare group is not."""
    sampler = GumbelSampler(3, groups=((0, 2),), floor=0.3)
    found = frequencies(sampler)
    assert (found[:, 1] == 0).all() and found[:, 0].min() > 0
    share = PROBS[0] / (PROBS[0] + PROBS[2])
    assert found[0, 0].item() == pytest.approx(share.item(), abs=0.02)


@pytest.mark.parametrize(
    'wrong', [((1, 5),), ((0, 1), (1, 2)), ((3,),), 5, (range(5),)]
)
def test_bad_groups_are_refused(wrong):
    with pytest.raises(UserError, match='groups='):
        GumbelSampler(5, groups=wrong)


def test_gradients_reach_the_logits():
    """As they would by the scores written out one by one."""
    sampler = GumbelSampler(5, groups=GROUPS, temperature=0.5)
    log_probs = random_f().double().requires_grad_()
    z = torch.randn(2, 1, sampler.noise_size).double()
    perturb = partial(sampler.gumbel.perturb, z=z)
    assert torch.autograd.gradcheck(perturb, log_probs[..., :2, :2])


SIZE = (5, 7)
WHOLE = slice(0, 5), slice(0, 7)


def test_pixels_without_weights_have_noise_all_the_same():
    weights = torch.randn(1, 4, *SIZE)
    weights[..., 2, :] = 0
    weights[..., 3, :] *= 1e-9
    weights.requires_grad_()
    field = WeightedField(unit_norm(weights))
    values = field.normal(torch.randn(4000, 1, 4), WHOLE)
    assert (values.std(0) - 1).abs().max() < 0.06
    values.sum().backward()
    assert weights.grad.isfinite().all()


def test_values_are_sums_and_tiles_agree_with_the_whole():
    weights = unit_norm(torch.randn(2, 4, *SIZE))
    assert (weights.square().sum(1) - 1).abs().max() < 1e-5
    z = torch.randn(3, 2, 2 * 4)
    values = WeightedField(weights).normal(z, WHOLE)
    for k, y, x in ((0, 0, 0), (1, 4, 6), (1, 2, 3)):
        terms = [weights[1, r, y, x] * z[2, 1, 4 * k + r] for r in range(4)]
        torch.testing.assert_close(values[2, 1, k, y, x], sum(terms))
    tile = WeightedField(weights).normal(z, (slice(1, 4), slice(2, 7)))
    torch.testing.assert_close(tile, values[..., 1:4, 2:7])
