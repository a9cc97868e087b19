import math

import pytest
import torch

from ..regression_1d.data import BimodalData, Run, branches, grid

RUNS = [Run(0.9, 0.02, 0, True), Run(0.5, 0.03, 1, False)]


def true_mode(x, b):
    """The definition, one x at a time."""
    if x < 0.4:
        return 0.5 - b
    if x < 0.8:
        return (-1) ** b * (1 - 1.25 * x)
    return 0.0


def test_grid_is_ninety_runs_with_l_cal_first():
    runs = grid()
    assert len(set(runs)) == len(runs) == 90
    assert all(run.calibrated for run in runs[:45])
    assert not any(run.calibrated for run in runs[45:])


def test_branches():
    x = torch.tensor([0.0, 0.39, 0.4, 0.6, 0.79, 0.8, 1.0])
    for b, branch in enumerate(branches(x)):
        expected = [true_mode(value, b) for value in x.tolist()]
        assert branch.tolist() == pytest.approx(expected, abs=1e-6)


def test_log_density():
    data = BimodalData(RUNS)
    x = torch.rand(2, 50)
    y = torch.rand(2, 50) - 0.5
    actual = data.log_density(x, y)
    for r, run in enumerate(RUNS):
        for i in range(50):
            density = 0.0
            for b, weight in ((0, 1 - run.pi), (1, run.pi)):
                gap = y[r, i].item() - true_mode(x[r, i].item(), b)
                density += (
                    weight
                    * math.exp(-0.5 * (gap / run.sigma) ** 2)
                    / (run.sigma * math.sqrt(2 * math.pi))
                )
            if density > 1e-30:
                expected = math.log(density)
                assert actual[r, i].item() == pytest.approx(
                    expected, rel=1e-3, abs=1e-3
                )
    assert actual.isfinite().all()


def test_draws_follow_the_density():
    data = BimodalData(RUNS)
    x, y = data.draw(40000)
    left = x < 0.4
    for r, run in enumerate(RUNS):
        lower = (y[r][left[r]] < 0).float().mean().item()
        assert lower == pytest.approx(run.pi, abs=0.015)
        spread = (y[r].abs() - 0.5)[left[r]].std().item()
        assert spread == pytest.approx(run.sigma, rel=0.05)
    gap = (y - data.mean(x)).mean(1).abs()
    assert (gap < 0.01).all()


def test_repeats_share_their_draws_and_purposes_do_not():
    runs = [Run(0.5, 0.01, 1, True), Run(0.9, 0.03, 1, False), RUNS[0]]
    noise = BimodalData(runs).normal(8)
    assert torch.equal(noise[0], noise[1])
    assert not torch.equal(noise[0], noise[2])
    alone = BimodalData(runs[1:2]).normal(8)
    assert torch.equal(alone[0], noise[1])
    for other in (dict(seed=1), dict(purpose='evaluation')):
        assert not torch.equal(BimodalData(runs, **other).normal(8), noise)
