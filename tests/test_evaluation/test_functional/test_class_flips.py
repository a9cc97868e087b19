import pytest
import torch

from mmcar.evaluation import (
    calibration,
    flip_observations,
    flip_offsets,
    flip_probability_sums,
)
from mmcar.utils.errors import UserError

from .. import brute_force as bf

FLIPS = [(0, 2, 0.25), (1, 3, 0.5)]


def test_flipping_labels_count_with_their_probability():
    """Weights equal the mean over many drawn labels."""
    label = bf.maps(1, 2, ignore=255, seed=3)[0]
    probs = torch.rand(4, 5, 7).softmax(0)
    modes, weights = bf.modes(label, FLIPS)
    drawn = modes.repeat_interleave(
        torch.tensor(weights).mul(8).round().int(), dim=0
    )  # every mode as often as its probability, out of 8
    many = calibration(probs, drawn)
    labels, weights = flip_observations(label, FLIPS)
    exact = calibration(probs, labels, weights=weights)
    torch.testing.assert_close(many.sums, 8 * exact.sums)
    torch.testing.assert_close(many.scores, 8 * exact.scores)


def test_offsets():
    flips = [*FLIPS, (4, 5, 0.5)]
    label = torch.tensor([[0, 0, 1, 255]])
    probs = torch.zeros(6, 1, 4)
    probs[2, 0] = torch.tensor([0.5, 0.25, 1.0, 1.0])
    probs[3, 0] = torch.tensor([1.0, 1.0, 0.25, 1.0])
    sums = flip_probability_sums(probs, label, flips=flips)
    assert sums.tolist() == [[0.75, 2], [0.25, 1], [0, 0]]
    offsets = flip_offsets(sums + sums, flips)
    assert offsets[:2].tolist() == [0.125, 0.25] and offsets[2].isnan()
    mask = torch.tensor([[False, True, True, True]])
    sums = flip_probability_sums(probs, label, flips=flips, mask=mask)
    assert sums[0].tolist() == [0.25, 1]


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'label': torch.zeros(3, 3)}, 'label: .*integer'),
        ({'label': torch.zeros(1, 3, 3).int()}, r'label: .*3, 3\)'),
        ({'flips': [(0, 4, 0.5)]}, 'flip of 0 to 4: .*from 0 to 3'),
    ],
)
def test_bad_inputs(change, message):
    label, probs = torch.zeros(3, 3).int(), torch.rand(4, 3, 3)
    inputs = dict(probs=probs, label=label, flips=FLIPS)
    with pytest.raises(UserError, match=message):
        flip_probability_sums(**inputs | change)
