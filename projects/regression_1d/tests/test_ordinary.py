from dataclasses import replace

import pytest
import torch

from ..regression_1d.data import BimodalData, Run
from ..regression_1d.ordinary import OrdinaryTrainer
from ..regression_1d.training import Settings

SHORT = Settings(
    hidden=16,
    lr=1e-2,
    calibration_iters=200,
    calibration_batch=200,
    iters=20,
    batch=30,
    num_samples=4,
)


@pytest.mark.parametrize('calibrated', [True, False])
def test_trains_every_network(calibrated):
    trainer = OrdinaryTrainer(Run(0.9, 0.02, 0, calibrated), SHORT)
    before = [
        [p.clone() for p in network.parameters()]
        for network in (trainer.generator, trainer.discriminator)
    ]
    trainer.train()
    networks = (trainer.generator, trainer.discriminator)
    for old, network in zip(before, networks, strict=True):
        for a, b in zip(old, network.parameters(), strict=True):
            assert not torch.equal(a, b)
    x = torch.linspace(0, 1, 50)
    mean = BimodalData([trainer.run]).mean(x[None])[0]
    error = trainer.calibration(x[:, None])[:, 0] - mean
    assert error.abs().mean() < 0.1


def test_l_cal_pulls_samples_towards_f():
    """With a large weight, the mean of samples follows F."""
    errors = []
    for weight in (0.0, 100.0):
        settings = replace(SHORT, cal_weight=weight, iters=100)
        trainer = OrdinaryTrainer(Run(0.9, 0.02, 0, True), settings)
        trainer.train()
        x = torch.linspace(0, 1, 50)[:, None]
        target = trainer.calibration(x)
        inputs = torch.cat([x, target], 1).repeat(100, 1)
        noise = torch.randn(len(inputs), 1)
        samples = trainer.generator(torch.cat([inputs, noise], 1))
        mean = samples.unflatten(0, (100, -1)).mean(0)
        errors.append((mean - target).abs().mean().item())
    assert errors[1] < 0.5 * errors[0]
