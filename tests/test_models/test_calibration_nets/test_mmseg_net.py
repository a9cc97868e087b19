"""F on the centre: the net's own map there, background around it."""

import pytest
import torch

from mmcar.models.calibration_nets import CenterCalibration, MMSegCalibration
from tests.toys import toy_parts

NET = toy_parts()


@pytest.fixture
def pair():
    """The same weights with and without a crop, K = 3."""
    center = CenterCalibration(3, crop_size=16, outside=0.01, **NET).eval()
    whole = MMSegCalibration(3, **NET).eval()
    whole.load_state_dict(center.state_dict())
    return center, whole


def test_the_centre_is_the_nets_and_the_rest_is_background(pair):
    center, whole = pair
    image = torch.randn(2, 3, 33, 40)
    probs = center(image).softmax(1)
    rows, columns = slice(8, 24), slice(12, 28)
    inside = whole(image[..., rows, columns]).softmax(1)
    assert torch.equal(probs[..., rows, columns], inside)
    outside = torch.ones(33, 40, dtype=torch.bool)
    outside[rows, columns] = False
    expected = torch.tensor([0.98, 0.01, 0.01]).view(1, 3, 1)
    torch.testing.assert_close(
        probs[..., outside], expected.expand(2, 3, int(outside.sum()))
    )


def test_an_image_that_is_smaller_is_seen_whole(pair):
    center, whole = pair
    image = torch.randn(1, 3, 16, 9)
    assert torch.equal(center(image), whole(image))
