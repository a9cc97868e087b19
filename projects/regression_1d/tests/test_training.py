from dataclasses import replace

import pytest
import torch

from ..regression_1d.data import grid
from ..regression_1d.training import Settings, Trainer, squared_error

RUNS = grid(pis=(0.5, 0.9), sigmas=(0.02,), repeats=2)  # 8 runs
SHORT = Settings(
    hidden=8,
    lr=1e-2,
    calibration_iters=20,
    calibration_batch=50,
    iters=20,
    batch=30,
    num_samples=4,
    eval_interval=10,
    eval_points=50,
)


def test_all_at_once_equals_one_after_the_other():
    together = Trainer(RUNS, SHORT).train()
    assert together.log_likelihood.shape == (3, 8)
    assert together.iters.tolist() == [0, 10, 20]
    for index in (0, 3, 5):
        alone = Trainer([RUNS[index]], SHORT).train()
        for name in ('calibration', 'generator', 'discriminator'):
            many = getattr(together, name).weights
            for a, b in zip(getattr(alone, name).weights, many, strict=True):
                assert torch.allclose(a[0], b[index], atol=1e-4), name


def test_l_cal_is_all_that_differs_within_a_pair():
    """Without weight on L_cal both halves of the grid are the same."""
    trained = Trainer(RUNS, replace(SHORT, cal_weight=0.0)).train()
    curves = trained.log_likelihood
    assert torch.allclose(curves[:, :4], curves[:, 4:], rtol=1e-3)
    trained = Trainer(RUNS, SHORT).train()
    curves = trained.log_likelihood
    assert not torch.allclose(curves[-1, :4], curves[-1, 4:], rtol=1e-3)


def test_gradient_through_one_sample_is_right_on_average():
    """Averaged over which sample it flows through, it is the full one."""
    torch.manual_seed(0)
    samples = torch.randn(5, 2, 7, requires_grad=True)  # (M, R, N)
    target = torch.randn(2, 7)
    loss = squared_error(samples.mean(0), target)
    (full,) = torch.autograd.grad(loss, samples)
    for i in range(5):
        others = samples.detach().sum(0) - samples.detach()[i]
        loss = 5 * squared_error((samples[i] + others) / 5, target)
        (one,) = torch.autograd.grad(loss, samples)
        # All samples have the same gradient; M times it lands on one.
        assert torch.allclose(one[i], full.sum(0), atol=1e-6)


def test_squared_error():
    mean, target = torch.randn(2, 3, 5)
    expected = sum(
        0.5 * (mean[r, i] - target[r, i]) ** 2 / 5
        for r in range(3)
        for i in range(5)
    )
    assert squared_error(mean, target).item() == pytest.approx(expected.item())


def test_calibration_net_learns_the_mean():
    settings = replace(
        SHORT, calibration_iters=400, calibration_batch=200, iters=0
    )
    trainer = Trainer(RUNS, settings)
    trained = trainer.train()
    x = torch.linspace(0, 1, 100).expand(len(RUNS), -1)
    gap = trained.calibration(x) - trainer.data.mean(x)
    assert gap.square().mean(1).sqrt().max() < 0.06


def test_progress_is_reported_and_order_checked():
    calls = []
    Trainer(RUNS[:1], SHORT, lambda: calls.append(1)).train()
    assert len(calls) == 40
    with pytest.raises(ValueError, match='must come first'):
        Trainer(RUNS[::-1], SHORT)
