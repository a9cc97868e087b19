import numpy as np
import pytest
import torch

from mmcar.evaluation import describe_changes, find_flip_states, hypotheses
from mmcar.evaluation.functional.hypotheses import (
    APART,
    SPREAD,
    cut_height,
    find_changes,
    sample_distances,
)
from mmcar.structures import ClassFlips

SIZE = 16
LEFT = (slice(4, 12), slice(1, 7))
RIGHT = (slice(4, 12), slice(9, 15))
EMPTY = torch.zeros(SIZE, SIZE, dtype=torch.uint8)


def square(rows, columns, class_id=1):
    label = EMPTY.clone()
    label[rows, columns] = class_id
    return label


def ragged(label, seed, share=0.5):
    """A map whose foreground has lost some of its border pixels."""
    padded = torch.nn.functional.pad(label, (1, 1, 1, 1))
    inner = torch.stack(
        [padded[i : i + SIZE, j : j + SIZE] for i in (0, 1, 2) for j in (0, 2)]
    ).amin(0)
    lost = torch.rand(
        SIZE, SIZE, generator=torch.Generator().manual_seed(seed)
    )
    return torch.where((lost < share) & (inner == 0), 0, label)


def two_modes(number):
    """The toy set's labels: seven in ten times the left square."""
    left = np.random.default_rng(0).permutation(number) < round(0.7 * number)
    maps = [
        ragged(square(*(LEFT if is_left else RIGHT)), i, 0.3)
        for i, is_left in enumerate(left)
    ]
    return torch.stack(maps), left


def hypotheses_of(samples, decision=None, **changes):
    decision = samples[0] if decision is None else decision
    settings = dict(num_classes=2) | changes
    return hypotheses(samples, decision, **settings)


def test_two_modes_come_out_with_their_probabilities():
    samples, left = two_modes(16)
    first, second = hypotheses_of(samples, square(*LEFT))
    assert abs(first.probability - 0.7) < 0.05
    assert abs(second.probability - 0.3) < 0.05
    assert set(first.members) == set(np.flatnonzero(left))
    assert set(second.members) == set(np.flatnonzero(~left))


def test_samples_that_differ_slightly_and_an_even_row_of_sizes_are_one():
    alike = [ragged(square(*LEFT), i, 0.3) for i in range(16)]
    assert len(torch.stack(alike).flatten(1).unique(dim=0)) == 16
    rows = [square(slice(0, 16), slice(0, 10 + k % 6)) for k in range(16)]
    for maps in (alike, rows):
        (only,) = hypotheses_of(torch.stack(maps))
        assert only.probability == 1
        assert only.members == tuple(range(16))


def test_noise_around_a_small_change_of_class_is_two():
    """A class of one tenth of the image flips: far from disjoint maps."""
    base = torch.arange(SIZE)[:, None].repeat(1, SIZE).div(2).floor().byte()
    samples = base.repeat(16, 1, 1)
    for i, sample in enumerate(samples):
        sample[i % 16, i % 5] = 0
    samples[10:][samples[10:] == 7] = 8
    first, second = hypotheses_of(samples, num_classes=9)
    assert first.members == tuple(range(10))
    assert second.members == tuple(range(10, 16))


def test_representative_is_the_medoid():
    samples, _ = two_modes(20)
    for hypothesis in hypotheses_of(samples):
        own = samples[list(hypothesis.members)]
        distances = sample_distances(own, 2).mean(1)
        best = hypothesis.members[int(distances.argmin())]
        assert hypothesis.representative == best


@pytest.mark.parametrize(
    ('maps', 'probabilities'),
    [
        ([EMPTY] * 4 + [square(*LEFT)] * 12, [0.75, 0.25]),
        ([EMPTY] * 3, [1]),
        ([EMPTY], [1]),
        ([square(*LEFT), square(*RIGHT)], [0.5, 0.5]),
    ],
)
def test_few_and_empty_maps(maps, probabilities):
    found = hypotheses_of(torch.stack(maps))
    assert [h.probability for h in found] == probabilities


def test_a_sample_of_weight_n_counts_as_n_equal_samples():
    number = torch.tensor([1, 4, 0, 3])
    maps = torch.stack(
        [square(*LEFT), square(*RIGHT), square(*RIGHT, 0), square(*LEFT, 2)]
    )
    repeated = maps.repeat_interleave(number, 0)
    how = dict(num_classes=3)
    found = hypotheses_of(maps, sample_weights=number, **how)
    wanted = hypotheses_of(repeated, **how)
    chances = [h.probability for h in found if h.probability]
    assert chances == [h.probability for h in wanted] == [4 / 8, 3 / 8, 1 / 8]
    assert found[0].representative == 1
    flips = ClassFlips.parse([(1, 2, 0.5)])
    (state,) = find_flip_states(maps, flips, number)
    assert state == pytest.approx(find_flip_states(repeated, flips)[0])
    assert state.as_twin == 3 / 8


def test_cut_height_rule():
    assert cut_height(np.array([])) == APART
    assert cut_height(np.array([0.01, 0.02, 0.14])) == APART
    assert SPREAD < cut_height(np.array([0.01, 0.02, 0.16])) < 0.16
    assert 0.2 < cut_height(np.array([0.1, 0.2, 0.9])) < 0.9
    assert cut_height(np.array([0.2, 0.3, 0.4])) == APART
    # Of two gaps the wider one decides.
    many = [0.0] * 12
    assert 0.06 < cut_height(np.array([*many, 0.06, 0.25, 0.9])) < 0.25
    # Two equal samples among many different ones are no group.
    assert cut_height(np.array([0.0, *[0.2] * 14])) == APART
    # Four pairs are.
    assert 0 < cut_height(np.array([*[0.0] * 4, *[0.2] * 3])) < 0.2


def test_flip_states():
    flips = ClassFlips.parse([(1, 2, 0.5), (3, 4, 0.5)])
    samples = torch.stack(
        [square(*LEFT, 1), square(*LEFT, 2), square(*LEFT, 2), EMPTY]
    )
    samples[1, 4, 1] = 1  # a stray pixel of the other state
    first, second = find_flip_states(samples, flips)
    assert first == (1, 2, 0.25, 0.5, 0.25)
    assert second == (3, 4, 0.0, 0.0, 1.0)


ON_THE_LEFT = square(*LEFT)
ON_THE_RIGHT = ON_THE_LEFT.flip(1)
CLASSES = ('ground', 'square')


def test_changes_say_what_where_and_how_much():
    assert find_changes(ON_THE_LEFT, ON_THE_LEFT, 2) == ()
    gained, lost = found = find_changes(ON_THE_LEFT, ON_THE_RIGHT, 2)
    assert (gained.before, gained.after, gained.pixels) == (0, 1, 48)
    assert (lost.before, lost.after, lost.pixels) == (1, 0, 48)
    assert gained.share == 48 / 256
    assert gained.centre == (0.5, 12 / 16)
    first, second = describe_changes(found, CLASSES).split('; ')
    assert first.startswith('square instead of ground') and 'right' in first
    assert second.startswith('ground instead of square') and 'left' in second
