import pytest
import torch
from mmseg.registry import MODELS
from scipy import stats

from mmcar.sampling.gumbel import (
    SharedGumbel,
    drop_unlikely,
    gumbel_from_normal,
)

WHOLE = slice(0, 64), slice(0, 64)


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
    g = gumbel(torch.randn(4, 2, 3), (5, 7))
    assert g.shape == (4, 2, 3, 1, 1)


def test_field_is_standard_gumbel_at_every_pixel():
    torch.manual_seed(0)
    gumbel = SharedGumbel(2, correlation_length=4.0)
    g = gumbel(torch.randn(2000, 1, gumbel.noise_size), (3, 9))
    assert g.shape == (2000, 1, 2, 3, 9)
    for pixels in (g[:, 0, 0, 0, 0], g[:, 0, 1, 2, 8], g[:, 0, 1, 1, 4]):
        assert stats.kstest(pixels.numpy(), 'gumbel_r').pvalue > 1e-4


def test_field_has_unit_variance_and_the_asked_correlation():
    length = 8.0
    waves = SharedGumbel(2, correlation_length=length)._waves(
        (slice(0, 64), slice(0, 64))
    )
    assert torch.allclose(waves.square().sum(0), torch.ones(64 * 64))
    covariance = waves.T @ waves[:, 0]  # of every pixel with the corner
    rows, columns = torch.meshgrid(*[torch.arange(64.0)] * 2, indexing='ij')
    wanted = torch.exp(-(rows**2 + columns**2) / (2 * length**2)).flatten()
    assert (covariance - wanted).abs().mean() < 0.1
    near = wanted > 0.5
    assert (covariance - wanted)[near].abs().max() < 0.1


def test_common_part_of_a_field():
    """Far pixels correlate by the common share, each has unit variance."""
    gumbel = SharedGumbel(2, correlation_length=4.0, common=0.3)
    assert gumbel.noise_size == 2 * (2 * 32 + 1)
    waves = gumbel._waves(WHOLE)
    assert torch.allclose(waves.square().sum(0), torch.ones(64 * 64))
    alone = SharedGumbel(2, correlation_length=4.0)._waves(
        (slice(0, 64), slice(0, 64))
    )
    covariance = waves.T @ waves[:, 0]
    expected = 0.3 + 0.7 * (alone.T @ alone[:, 0])
    assert torch.allclose(covariance, expected, atol=1e-5)
    torch.manual_seed(0)
    g = gumbel(torch.randn(2000, 1, gumbel.noise_size), (3, 9))
    assert stats.kstest(g[:, 0, 1, 2, 8].numpy(), 'gumbel_r').pvalue > 1e-4


def test_field_keeps_full_precision_under_autocast():
    gumbel = SharedGumbel(3, correlation_length=4.0)
    z = torch.randn(2, 1, gumbel.noise_size)
    plain = gumbel(z, (6, 7))
    with torch.autocast('cpu', torch.bfloat16):
        assert torch.equal(gumbel(z, (6, 7)), plain)


def test_field_does_not_depend_on_image_size():
    gumbel = SharedGumbel(2, correlation_length=5.0)
    z = torch.randn(1, 1, gumbel.noise_size)
    large, small = gumbel(z, (37, 53)), gumbel(z, (11, 8))
    assert torch.allclose(large[..., :11, :8], small, atol=1e-4)


def test_nothing_to_train_or_store():
    gumbel = MODELS.build(
        {'type': 'SharedGumbel', 'num_classes': 2, 'correlation_length': 3}
    )
    assert not list(gumbel.parameters())
    assert not gumbel.state_dict()


def test_unlikely_classes_are_left_out_and_nothing_else():
    probs = torch.tensor([0.01, 0.02, 0.03, 0.94]).view(1, 4, 1, 1)
    log_probs = probs.log()
    assert drop_unlikely(log_probs, 0.0) is log_probs
    kept = drop_unlikely(log_probs, 0.02).flatten().exp()
    assert kept.tolist() == [0, *log_probs.flatten().exp().tolist()[1:]]


@pytest.mark.parametrize(
    ('kwargs', 'message'),
    [
        ({'num_classes': 1}, 'num_classes=1'),
        ({'num_classes': 2, 'correlation_length': 0}, 'correlation_length=0'),
        ({'num_classes': 2, 'num_features': 0}, 'num_features=0'),
        ({'num_classes': 2, 'common': 0.5}, 'set correlation_length'),
        (
            {'num_classes': 2, 'correlation_length': 4, 'common': 1.0},
            'common=1.0',
        ),
        ({'num_classes': 2, 'floor': 0.5}, 'floor=0.5'),
        ({'num_classes': 2, 'floor': -0.1}, 'floor=-0.1'),
    ],
)
def test_refuses(kwargs, message):
    with pytest.raises(ValueError, match=message):
        SharedGumbel(**kwargs)
