import itertools
import math

import pytest
import torch
from mmseg.registry import MODELS
from scipy import stats

from mmcar.sampling.gumbel import (
    SharedGumbel,
    drop_unlikely,
    gumbel_from_normal,
)


def noise(gumbel, z, size):
    """Gumbel noise (S, B, K, H, W) of an image of that size."""
    return gumbel.perturb(torch.zeros(gumbel.num_classes, *size), z)


def test_matches_scipy_quantiles():
    normal = torch.linspace(-6, 6, 49, dtype=torch.float64)
    expected = stats.gumbel_r.isf(stats.norm.sf(normal.numpy()))
    assert torch.allclose(
        gumbel_from_normal(normal), torch.from_numpy(expected), rtol=1e-6
    )
    single = gumbel_from_normal(normal.float()).double()
    assert torch.allclose(single, torch.from_numpy(expected), atol=1e-3)


def test_tails_are_finite():
    extreme = torch.tensor([-1e6, -40.0, 0.0, 40.0, 1e6])
    g = gumbel_from_normal(extreme)
    assert g.isfinite().all()
    assert (g.diff() >= 0).all()


def test_single_number_is_shared_by_all_pixels():
    gumbel = SharedGumbel(3)
    assert gumbel.noise_size == 3
    g = noise(gumbel, torch.randn(4, 2, 3), (5, 7))
    assert g.shape == (4, 2, 3, 5, 7)
    assert (g == g[..., :1, :1]).all()


@pytest.mark.parametrize('common', [0.0, 0.3])
def test_field_is_standard_gumbel_at_every_pixel(common):
    torch.manual_seed(0)
    gumbel = SharedGumbel(2, correlation_length=4.0, common=common)
    g = noise(gumbel, torch.randn(2000, 1, gumbel.noise_size), (3, 9))
    for pixels in (g[:, 0, 0, 0, 0], g[:, 0, 1, 2, 8], g[:, 0, 1, 1, 4]):
        assert stats.kstest(pixels.numpy(), 'gumbel_r').pvalue > 1e-4


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
    length, draws, side, common = 8.0, 4000, 72, 0.3
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


def test_is_registered():
    gumbel = MODELS.build(
        {'type': 'SharedGumbel', 'num_classes': 2, 'correlation_length': 3}
    )
    assert gumbel.varies


def test_unlikely_classes_are_left_out_and_nothing_else():
    probs = torch.tensor([0.01, 0.02, 0.03, 0.94]).view(1, 4, 1, 1)
    log_probs = probs.log()
    assert drop_unlikely(log_probs, 0.0) is log_probs
    kept = drop_unlikely(log_probs, 0.02).flatten().exp()
    assert kept.tolist() == [0, *log_probs.flatten().exp().tolist()[1:]]


@pytest.mark.parametrize(
    'wrong',
    [
        {'num_classes': 1},
        {'correlation_length': 0},
        {'num_features': 0},
        {'common': 0.5},
        {'common': 1.0, 'correlation_length': 4},
        {'floor': 0.5},
        {'floor': -0.1},
    ],
)
def test_refuses(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SharedGumbel(**{'num_classes': 2, **wrong})
