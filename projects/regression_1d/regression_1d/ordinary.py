"""One run in ordinary PyTorch: what the batched trainer is timed against."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from mmcar.models.losses import AdversarialLoss

from .data import BimodalData, Run
from .training import Settings, update


def build_mlp(
    in_features: int, hidden: int, layers: int = 4, slope: float = 0.01
) -> nn.Module:
    """A multilayer perceptron (N, in_features) -> (N, 1)."""
    sizes = [in_features] + layers * [hidden]
    blocks = [
        nn.Sequential(nn.Linear(i, o), nn.LeakyReLU(slope))
        for i, o in pairwise(sizes)
    ]
    return nn.Sequential(*blocks, nn.Linear(hidden, 1))


class OrdinaryTrainer:
    """Trains F, then G and D, of a single run.

    The same experiment as that of the batched trainer, written the usual way
    and without what makes that one fast: each run has an F of its own, and
    the gradient of L_cal flows through all samples. It does not evaluate.

    Args:
        run: The run.
        settings: Hyperparameters.
    """

    def __init__(self, run: Run, settings: Settings) -> None:
        self.run, self.settings = run, settings
        torch.manual_seed(settings.seed)
        hidden = settings.hidden
        self.calibration = build_mlp(
            1, hidden, slope=settings.calibration_slope
        )
        self.generator = build_mlp(3, hidden)
        self.discriminator = build_mlp(2, hidden)
        self.adversarial = AdversarialLoss()

    def train(self) -> None:
        """Train all three networks."""
        settings = self.settings
        data = BimodalData([self.run], settings.seed)
        networks = (self.calibration, self.generator, self.discriminator)
        optim_f, optim_g, optim_d = (
            torch.optim.Adam(network.parameters(), lr=settings.lr)
            for network in networks
        )
        for _ in range(settings.calibration_iters):
            x, y = self._draw(data, settings.calibration_batch)
            error = (self.calibration(x) - y).square().mean()
            update(optim_f, 0.5 * error)
        for _ in range(settings.iters):
            x, y = self._draw(data, settings.batch)
            with torch.no_grad():
                target = self.calibration(x)
            if settings.first == 'generator':
                fake = self._step_generator(x, target, optim_g)
                self._step_discriminator(x, y, fake, optim_d)
            else:
                with torch.no_grad():
                    fake = self._sample(x, target, 1)[0]
                self._step_discriminator(x, y, fake, optim_d)
                self._step_generator(x, target, optim_g)

    def _step_generator(
        self, x: Tensor, target: Tensor, optimizer: torch.optim.Optimizer
    ) -> Tensor:
        """Update G; one sample (N, 1) per x."""
        settings = self.settings
        number = settings.num_samples if self.run.calibrated else 1
        samples = self._sample(x, target, number)
        judged = samples
        if settings.adversarial_samples == 'one':
            judged = samples[:1]
        pairs = x.repeat(len(judged), 1), judged.flatten(0, 1)
        logits = self.discriminator(torch.cat(pairs, 1))
        loss = self.adversarial.generator(logits)
        if self.run.calibrated:
            error = (samples.mean(0) - target).square().mean()
            loss = loss + settings.cal_weight * 0.5 * error
        update(optimizer, loss)
        return samples[0].detach()

    def _sample(self, x: Tensor, target: Tensor, number: int) -> Tensor:
        """Samples (number, N, 1)."""
        noise = torch.randn(number * len(x), 1)
        inputs = torch.cat([x, target], 1).repeat(number, 1)
        samples = self.generator(torch.cat([inputs, noise], 1))
        return samples.unflatten(0, (number, -1))

    def _step_discriminator(
        self,
        x: Tensor,
        y: Tensor,
        fake: Tensor,
        optimizer: torch.optim.Optimizer,
    ) -> None:
        """Update D on the data against one sample per x."""
        maps = torch.cat([y, fake])
        logits = self.discriminator(torch.cat([x.repeat(2, 1), maps], 1))
        update(optimizer, self.adversarial.discriminator(*logits.chunk(2)))

    def _draw(self, data: BimodalData, count: int) -> tuple[Tensor, Tensor]:
        """Draw x and y, each (N, 1)."""
        x, y = data.draw(count)
        return x.T, y.T
