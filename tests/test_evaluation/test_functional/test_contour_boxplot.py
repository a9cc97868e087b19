from itertools import combinations

import pytest
import torch

from mmcar.evaluation import band_depth, contour_boxplot


def disc(radius, centre=(16, 16), size=32):
    rows, columns = torch.meshgrid(
        torch.arange(size), torch.arange(size), indexing='ij'
    )
    away = (rows - centre[0]) ** 2 + (columns - centre[1]) ** 2
    return away <= radius**2


def brute_depth(masks, tolerance):
    """The definition, pair by pair and set by set."""
    sets = [set(map(tuple, mask.nonzero().tolist())) for mask in masks]
    depths = []
    for i, own in enumerate(sets):
        others = [s for j, s in enumerate(sets) if j != i]
        scores = []
        for a, b in combinations(others, 2):
            core, union = a & b, a | b
            lacking = len(core - own) / len(core) if core else 0
            outside = len(own - union) / len(own) if own else 0
            miss = max(lacking, outside)
            scores.append(1 - miss if tolerance is None else miss <= tolerance)
        depths.append(sum(scores) / len(scores))
    return torch.tensor(depths, dtype=torch.float64)


@pytest.mark.parametrize('tolerance', [None, 0.0, 0.2])
@pytest.mark.parametrize('seed', range(3))
def test_depth_against_its_definition(seed, tolerance):
    generator = torch.Generator().manual_seed(seed)
    masks = torch.rand(9, 6, 7, generator=generator) < 0.6
    masks[3] = False
    masks[5] = masks[4]
    torch.testing.assert_close(
        band_depth(masks, tolerance), brute_depth(masks, tolerance)
    )


def test_nested_outlines():
    """Of nested discs, the middle one lies in most bands."""
    masks = torch.stack([disc(r) for r in (4, 6, 8, 10, 12)])
    assert band_depth(masks, 0).tolist() == [0, 3 / 6, 4 / 6, 3 / 6, 0]
    box = contour_boxplot(masks)
    assert box.median == 2
    assert box.outliers == ()
    assert box.inner_core.equal(masks[1])
    assert box.inner_union.equal(masks[3])
    assert box.outer_core.equal(masks[0])
    assert box.outer_union.equal(masks[4])


def test_an_outlier_is_no_part_of_the_envelope():
    usual = [disc(8 + k % 3, (16 + k % 2, 16)) for k in range(15)]
    masks = torch.stack([*usual, disc(5, (6, 6))])
    box = contour_boxplot(masks)
    assert box.outliers == (15,)
    assert box.outer_union.equal(masks[:15].any(0))
    assert not (box.outer_union & disc(2, (4, 4))).any()
