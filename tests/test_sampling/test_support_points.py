import itertools

import pytest
import torch

from mmcar.evaluation import support_points
from mmcar.sampling.support_points import map_distances, representative


def shares(distances, chosen):
    """For how many draws each chosen one stands, draw by draw."""
    nearest = [min(chosen, key=lambda c: row[c].item()) for row in distances]
    return [nearest.count(c) / len(nearest) for c in chosen]


def energy_distance(distances, chosen):
    """Of the chosen draws to all, written out."""
    draws, weights = range(len(distances)), shares(distances, chosen)
    pairs = list(zip(chosen, weights, strict=True))
    across = sum(v * distances[i, j] for i, v in pairs for j in draws)
    among = sum(v * w * distances[i, j] for i, v in pairs for j, w in pairs)
    within = sum(distances[i, j] for i in draws for j in draws)
    number = len(distances)
    return float(2 * across / number - among - within / number**2)


def line(*points):
    positions = torch.tensor(points, dtype=torch.float64)
    return (positions[:, None] - positions).abs()


@pytest.mark.parametrize('seed', range(3))
def test_close_to_the_best_of_all_choices(seed):
    torch.manual_seed(seed)
    positions = torch.randn(10, 3, dtype=torch.float64)
    distances = torch.cdist(positions, positions)
    found, weights = support_points(distances, 3)
    assert weights.tolist() == pytest.approx(shares(distances, found))
    choices = itertools.combinations(range(10), 3)
    every = sorted(energy_distance(distances, c) for c in choices)
    assert found == sorted(set(found)) and len(found) == 3
    # Single exchanges find a local optimum: here within the best 5 %.
    assert energy_distance(distances, found) <= every[5] + 1e-12


@pytest.mark.parametrize('rare', [3, 25])
def test_modes_are_kept_and_weigh_as_much_as_they_were_drawn(rare):
    common = torch.linspace(0, 0.1, 100 - rare)
    chosen, weights = support_points(line(*common.tolist(), *[1.0] * rare), 4)
    of_rare = [i >= 100 - rare for i in chosen]
    assert weights[of_rare].sum() == pytest.approx(rare / 100)


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


def test_of_two_kinds_of_draws_both_stay_in_proportion():
    maps = torch.zeros(9, 4, 4, dtype=torch.uint8)
    maps[:6, :2] = 1
    maps[6:, 2:] = 1
    kept, weights = representative(maps, 3, 2)
    assert weights[kept[:, 0, 0] == 1].sum() == pytest.approx(2 / 3)
