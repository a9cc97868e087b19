"""The options of the authors' notebook, each against its formula."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from ..regression_1d.data import BimodalData, grid
from ..regression_1d.ordinary import OrdinaryTrainer
from ..regression_1d.training import NOTEBOOK, Settings, Trainer
from .test_training import RUNS, SHORT

AS_THERE = replace(SHORT, **(NOTEBOOK | dict(hidden=8)))


def test_all_at_once_equals_one_after_the_other():
    together = Trainer(RUNS, AS_THERE).train()
    for index in (0, 5):
        alone = Trainer([RUNS[index]], AS_THERE).train()
        for name in ('calibration', 'generator', 'discriminator'):
            many = getattr(together, name).weights
            for a, b in zip(getattr(alone, name).weights, many, strict=True):
                assert torch.allclose(a[0], b[index], atol=1e-4), name


def test_adversarial_loss_over_all_samples():
    """Runs with L_cal: over all samples of a run; the others: over one."""
    trainer = Trainer(RUNS, replace(AS_THERE, calibration_iters=0))
    torch.manual_seed(0)
    x, fake = torch.rand(8, 5), torch.randn(8, 5)
    others = torch.randn(4, 3, 5)
    expected = 0.0
    for r in range(8):
        samples = [fake[r], *others[r]] if r < 4 else [fake[r]]
        values = []
        for sample in samples:
            full_x, full_y = x.clone(), torch.zeros(8, 5)
            full_y[r] = sample
            logits = trainer.discriminator(full_x, full_y)[r]
            values.append(F.softplus(-logits))
        expected += torch.stack(values).mean().item()
    loss = trainer._adversarial_loss(x, fake, others)
    assert loss.item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize('trainer_type', [Trainer, OrdinaryTrainer])
@pytest.mark.parametrize('first', ['generator', 'discriminator'])
def test_order_of_updates(trainer_type, first, monkeypatch):
    order = []
    for name in ('generator', 'discriminator'):
        step = getattr(trainer_type, f'_step_{name}')

        def noted(self, *args, name=name, step=step):
            order.append(name)
            return step(self, *args)

        monkeypatch.setattr(trainer_type, f'_step_{name}', noted)
    settings = replace(AS_THERE, first=first, iters=2)
    run = RUNS[0] if trainer_type is OrdinaryTrainer else RUNS[:1]
    trainer_type(run, settings).train()
    second = {'generator', 'discriminator'} - {first}
    assert order == [first, *second] * 2


def test_floor_of_the_likelihood():
    data = BimodalData(grid(pis=(0.6,), sigmas=(0.01,), repeats=1))
    x = torch.full((2, 3), 0.2)
    y = torch.tensor([0.5, 0.49, 0.0]).expand(2, -1)  # the last: far off
    plain, floored = data.log_density(x, y), data.floored_log_density(x, y)
    expected = (plain.double().exp() + 1e-11).log().float()
    assert torch.allclose(floored, expected, atol=1e-4)
    assert plain[0, 2] < -1000
    assert floored[0, 2].item() == pytest.approx(math.log(1e-11))


def test_both_likelihoods_are_recorded():
    trained = Trainer(RUNS, SHORT).train()
    assert trained.floored.shape == trained.log_likelihood.shape
    assert (trained.floored >= trained.log_likelihood - 1e-4).all()
    assert (trained.floored >= math.log(1e-11)).all()


def test_f_with_relus():
    trainer = Trainer(RUNS[:1], AS_THERE)
    assert NOTEBOOK['hidden'] == 64
    assert trainer.calibration.slope == 0
    assert trainer.generator.slope == trainer.discriminator.slope == 0.01


def test_unknown_values_are_refused():
    with pytest.raises(ValueError, match="first='d'"):
        Settings(first='d')
    with pytest.raises(ValueError, match="adversarial_samples='two'"):
        Settings(adversarial_samples='two')
