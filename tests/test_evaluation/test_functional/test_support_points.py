import itertools

import pytest
import torch

from mmcar.evaluation import support_points
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
