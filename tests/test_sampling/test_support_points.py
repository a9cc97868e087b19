import itertools

import pytest
import torch

from mmcar.evaluation import support_points
from mmcar.sampling.support_points import map_distances, representative
from mmcar.utils.errors import UserError


def energy_distance(distances, chosen):
    """Of the chosen draws to all, written out."""
    draws = range(len(distances))
    across = [distances[i, j] for i in chosen for j in draws]
    among = [distances[i, j] for i in chosen for j in chosen]
    within = [distances[i, j] for i in draws for j in draws]
    mean = [sum(x) / len(x) for x in (across, among, within)]
    return float(2 * mean[0] - mean[1] - mean[2])


def line(*points):
    positions = torch.tensor(points, dtype=torch.float64)
    return (positions[:, None] - positions).abs()


@pytest.mark.parametrize('seed', range(5))
def test_close_to_the_best_of_all_choices(seed):
    torch.manual_seed(seed)
    positions = torch.randn(10, 3, dtype=torch.float64)
    distances = torch.cdist(positions, positions)
    found = support_points(distances, 3)
    every = sorted(
        energy_distance(distances, c)
        for c in itertools.combinations(range(10), 3)
    )
    assert found == sorted(set(found)) and len(found) == 3
    # Single exchanges find a local optimum: here within the best 5 %.
    assert energy_distance(distances, found) <= every[5] + 1e-12


def test_modes_are_kept_in_proportion():
    distances = line(*[0.0] * 75, *[1.0] * 25)
    assert sum(i >= 75 for i in support_points(distances, 4)) == 1


def test_all_draws_are_their_own_support_points():
    assert support_points(line(0, 1, 5), 3) == [0, 1, 2]


@pytest.mark.parametrize('number', [0, 4])
def test_refuses_numbers_that_cannot_be(number):
    with pytest.raises(UserError, match=f'number={number}'):
        support_points(line(0, 1, 2), number)


@pytest.mark.parametrize('classes', [2, 4])
def test_distances_are_one_minus_the_mean_iou(classes):
    generator = torch.Generator().manual_seed(0)
    maps = torch.randint(classes, (5, 3, 4), generator=generator)
    maps[0] = 0  # no foreground in two of them
    maps[1] = 0
    found = map_distances(maps, classes)
    for a, b in itertools.product(range(5), range(5)):
        values = []
        for k in range(classes == 2, classes):
            one, two = maps[a] == k, maps[b] == k
            if (one | two).any():
                iou = (one & two).sum() / (one | two).sum()
                values.append(1 - float(iou))
        expected = sum(values) / len(values) if values else 0.0
        assert float(found[a, b]) == pytest.approx(expected, abs=1e-6)


def test_large_maps_are_compared_on_a_part_of_their_pixels():
    small = torch.randint(3, (4, 128, 128))
    large = small.repeat_interleave(4, 1).repeat_interleave(4, 2)
    torch.testing.assert_close(
        map_distances(large, 3), map_distances(small, 3), atol=0.02, rtol=0
    )


def test_of_two_kinds_of_draws_both_stay_in_proportion():
    maps = torch.zeros(9, 4, 4, dtype=torch.uint8)
    maps[:6, :2] = 1
    maps[6:, 2:] = 1
    kept = representative(maps, 3, 2)
    assert (kept[:, 0, 0] == 1).sum() == 2
