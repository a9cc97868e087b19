import pytest
import torch

from mmcar.evaluation import (
    CalibrationBins,
    flip_observations,
    flip_offsets,
    flip_probability_sums,
    score_sums,
)

from .. import brute_force as bf


def test_flipping_labels_count_with_their_probability():
    """Weights equal the mean over many drawn labels."""
    flips = [(0, 2, 0.25), (1, 3, 0.5)]
    label = bf.maps(1, 2, ignore=255, seed=3)[0]
    probs = torch.rand(4, 5, 7).softmax(0)
    modes, weights = bf.modes(label, flips)
    drawn = modes.repeat_interleave(
        torch.tensor(weights).mul(8).round().int(), dim=0
    )  # every mode as often as its probability, out of 8
    many, exact = CalibrationBins(), CalibrationBins()
    many.update(probs, drawn)
    labels, weights = flip_observations(label, flips)
    exact.update(probs, labels, weights)
    torch.testing.assert_close(many.sums, 8 * exact.sums)
    torch.testing.assert_close(
        torch.stack(score_sums(probs, drawn)),
        8 * torch.stack(score_sums(probs, labels, weights=weights)),
    )


def test_offsets():
    flips = [(0, 2, 0.25), (1, 3, 0.5), (4, 5, 0.5)]
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


def test_offsets_of_several_images():
    flips = [(0, 2, 0.25), (1, 3, 0.5)]
    labels = bf.maps(3, 2, ignore=255, seed=4)
    probs = torch.rand(3, 4, 5, 7)
    mask = torch.rand(3, 5, 7) < 0.5
    got = flip_probability_sums(probs, labels, flips=flips, mask=mask)
    for i, sums in enumerate(got):
        for (c, twin, _), (said, number) in zip(flips, sums, strict=True):
            where = (labels[i] == c) & mask[i]
            assert number == where.sum()
            torch.testing.assert_close(
                said, probs[i, twin][where].double().sum()
            )
    each = [flip_offsets(sums, flips) for sums in got]
    torch.testing.assert_close(
        flip_offsets(got, flips), torch.stack(each), equal_nan=True
    )


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'probs': torch.full((4, 3, 3), 2.0)}, 'not logits'),
        ({'label': torch.zeros(3, 3)}, 'label: .*integer'),
        ({'label': torch.full((3, 3), 4)}, r'label: .*\[4\]'),
        ({'label': torch.zeros(1, 3, 3).int()}, r'label: .*\(1, 3, 3\)'),
        ({'mask': torch.ones(3, 4).bool()}, r'mask: .*\(3, 4\)'),
        ({'flips': [(0, 4, 0.5)]}, 'flip of 0 to 4: .*from 0 to 3'),
    ],
)
def test_bad_inputs(change, message):
    inputs = {
        'probs': torch.rand(4, 3, 3),
        'label': torch.zeros(3, 3).int(),
        'flips': [(0, 2, 0.5)],
    }
    with pytest.raises(ValueError, match=message):
        flip_probability_sums(**inputs | change)
