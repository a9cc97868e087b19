"""Regions of an image that vary on their own."""

import numpy as np
import pytest
import torch

from mmcar.models import GumbelSampler, RegionSampler
from mmcar.models.generators.region_sampler import memberships
from mmcar.utils.errors import UserError

IMAGE = torch.zeros(1, 3, 24, 40)


def two_blobs(p=0.5):
    """F of two blobs on certain ground, far from each other."""
    foreground = torch.full((24, 40), 0.001)
    foreground[4:12, 4:12] = p
    foreground[10:20, 28:38] = p
    probs = torch.stack((1 - foreground, foreground))
    return probs.log()[None]


def on_both(sampler, draws=4000):
    """Whether each blob is drawn, at its middle, (draws, 2)."""
    torch.manual_seed(0)
    state = sampler.encode(IMAGE, two_blobs())
    z = torch.randn(draws, 1, sampler.noise_size)
    labels = torch.cat(
        [sampler.sample_labels(state, part) for part in z.split(500)]
    )[:, 0]
    return torch.stack((labels[:, 8, 8], labels[:, 15, 33])).double()


def test_regions_are_connected_parts_and_what_is_nearest():
    undecided = two_blobs()[0].amax(0).exp().numpy() < 0.95
    shares = memberships(undecided, 3, border=0)
    assert (shares.sum(0) == 1).all() and set(np.unique(shares)) == {0, 1}
    assert shares[0, 15, 33] == 1  # the larger one is first
    assert shares[1, 8, 8] == 1 and shares[1, 0, 0] == 1
    assert not shares[2].any()
    smooth = memberships(undecided, 3, border=2.0)
    np.testing.assert_allclose(smooth.sum(0), 1, rtol=1e-5)
    between = smooth[0, 12]
    assert ((between > 0.05) & (between < 0.95)).sum() >= 4
    assert (memberships(undecided, 1, 0)[0] == 1).all()  # they share one
    assert (memberships(undecided & False, 3, 2.0)[0] == 1).all()


@pytest.mark.parametrize(('common', 'expected'), [(0.0, 0.0), (0.6, 0.41)])
def test_blobs_vary_independently_but_for_the_common_part(common, expected):
    """Halves of a Gaussian of correlation c: 2 / pi * asin(c) = 0.41."""
    both = on_both(RegionSampler(2, common=common))
    assert both.mean(1).tolist() == pytest.approx([0.5, 0.5], abs=0.03)
    found = torch.corrcoef(both)[0, 1].item()
    assert found == pytest.approx(expected, abs=0.06)


def test_pixels_of_a_blob_go_together():
    sampler = RegionSampler(2, border=0.0)
    state = sampler.encode(IMAGE, two_blobs())
    z = torch.randn(50, 1, sampler.noise_size)
    labels = sampler.sample_labels(state, z)[:, 0]
    inside = labels[:, 4:12, 4:12].flatten(1).float().mean(1)
    assert set(inside.tolist()) == {0.0, 1.0}


def test_all_in_common_is_the_training_free_sampler():
    sampler, shared = (
        RegionSampler(2, max_regions=4, common=1.0),
        GumbelSampler(2),
    )
    z = torch.randn(9, 1, sampler.noise_size)
    own = z.unflatten(-1, (2, 5))[..., -1]
    log_probs = torch.randn(1, 2, 24, 40).log_softmax(1)
    expected = shared.sample_labels(shared.encode(IMAGE, log_probs), own)
    found = sampler.sample_labels(sampler.encode(IMAGE, log_probs), z)
    assert torch.equal(found, expected)


@pytest.mark.parametrize(
    'wrong',
    [
        dict(common=1.1),
        dict(undecided=0.0),
        dict(border=-1.0),
        dict(max_regions=0),
    ],
)
def test_bad_values_are_refused(wrong):
    with pytest.raises(UserError, match=next(iter(wrong))):
        RegionSampler(2, **wrong)
