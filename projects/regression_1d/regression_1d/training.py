"""Train F, G and D of many regression runs at once."""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace

import torch
from torch import Tensor

from mmcar.models.losses import AdversarialLoss, pixel_divergence
from mmcar.utils.checks import one_of
from mmcar.utils.errors import UserError

from .data import BimodalData, Run
from .networks import BatchedMLP


@dataclass(frozen=True)
class Settings:
    """Hyperparameters, the same for all runs.

    Attributes:
        hidden: Units of each of the four hidden layers.
        lr: Learning rate of all networks.
        calibration_iters: Iterations of F.
        calibration_batch: Batch size of F.
        iters: Iterations of G and D.
        batch: Batch size of G and D.
        num_samples: Samples per x in the mean of L_cal.
        cal_weight: Weight of L_cal; that of L_adv is 1.
        adversarial_samples: What L_adv sees of the samples that runs with
            L_cal draw for each x: 'one' or 'all'. With 'all' the gradient of
            L_cal flows through all of them as well.
        first: Whether the 'generator' or the 'discriminator' is updated
            first. What D sees is drawn before either update in both cases.
        calibration_slope: Slope of F's leaky ReLUs; 0 makes them ReLUs.
        eval_interval: Iterations between two points of the curves.
        eval_points: Samples in each point.
        seed: Seed of everything.
    """

    hidden: int = 32
    lr: float = 1e-4
    calibration_iters: int = 1500
    calibration_batch: int = 1000
    iters: int = 5000
    batch: int = 100
    num_samples: int = 10
    cal_weight: float = 1.0
    adversarial_samples: str = 'one'
    first: str = 'generator'
    calibration_slope: float = 0.01
    eval_interval: int = 100
    eval_points: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse unknown values."""
        one_of(('one', 'all'), adversarial_samples=self.adversarial_samples)
        one_of(('generator', 'discriminator'), first=self.first)


NOTEBOOK = dict(
    hidden=64,
    adversarial_samples='all',
    first='discriminator',
    calibration_slope=0.0,
)
"""Settings of the authors' published notebook that differ from ours."""


@dataclass
class Trained:
    """Networks of R runs, and how their likelihood developed.

    Attributes:
        runs: The R runs.
        calibration: F: x -> E[y | x].
        generator: G: x, F(x), noise -> y.
        discriminator: D: x, y -> logit.
        iters: Iterations of the T points of the curves, (T,).
        log_likelihood: Mean log density of G's samples, (T, R).
        floored: The same with the floor of the authors' notebook, (T, R).
    """

    runs: Sequence[Run]
    calibration: BatchedMLP
    generator: BatchedMLP
    discriminator: BatchedMLP
    iters: Tensor
    log_likelihood: Tensor
    floored: Tensor


def adam(network: BatchedMLP, settings: Settings) -> torch.optim.Optimizer:
    """One optimiser for the stacked weights of all runs."""
    return torch.optim.Adam(network.parameters(), lr=settings.lr, fused=True)


def train_calibration(
    runs: Sequence[Run],
    settings: Settings,
    advance: Callable[[], None] = lambda: None,
) -> BatchedMLP:
    """Train F of all runs; L_ce becomes half the squared error.

    F does not know whether G will be trained with L_cal, so that the two runs
    of a pair would train the same F: it is trained once and copied.
    """
    keys = [replace(run, calibrated=False) for run in runs]
    unique = sorted(set(keys), key=astuple)
    data = BimodalData(unique, settings.seed, 'calibration')
    network = BatchedMLP(
        data, 1, settings.hidden, slope=settings.calibration_slope
    )
    optimizer = adam(network, settings)
    for _ in range(settings.calibration_iters):
        x, y = data.draw(settings.calibration_batch)
        update(optimizer, squared_error(network(x), y))
        advance()
    index = torch.tensor([unique.index(key) for key in keys])
    for parameter in network.parameters():
        parameter.data = parameter.data[index]
        parameter.grad = None
    return network.requires_grad_(False)


class Trainer:
    """Trains F at once when it is made, then G and D in lockstep.

    Args:
        runs: The runs; those with L_cal must come first.
        settings: Hyperparameters.
        advance: Called after every iteration, for a progress bar.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        settings: Settings,
        advance: Callable[[], None] = lambda: None,
    ) -> None:
        self.runs, self.settings, self.advance = runs, settings, advance
        self.num_calibrated = sum(run.calibrated for run in runs)
        if not all(run.calibrated for run in runs[: self.num_calibrated]):
            raise UserError('Runs with L_cal must come first.')
        self.data = BimodalData(runs, settings.seed)
        self.cal_data = BimodalData(
            runs[: self.num_calibrated], settings.seed, 'L_cal'
        )
        hidden = settings.hidden
        self.calibration = train_calibration(runs, settings, advance)
        self.generator = BatchedMLP(self.data, 3, hidden)
        self.discriminator = BatchedMLP(self.data, 2, hidden)
        self.adversarial = AdversarialLoss()

    def train(self) -> Trained:
        """Train G and D."""
        settings = self.settings
        test_data = BimodalData(self.runs, settings.seed, 'evaluation')
        optim_g = adam(self.generator, settings)
        optim_d = adam(self.discriminator, settings)
        curve = [self.evaluate(test_data)]
        for iteration in range(1, settings.iters + 1):
            x, y = self.data.draw(settings.batch)
            with torch.no_grad():
                target = self.calibration(x)
            noise = self.data.normal(settings.batch)
            if settings.first == 'generator':
                fake = self._step_generator(x, target, noise, optim_g)
                self._step_discriminator(x, y, fake, optim_d)
            else:
                with torch.no_grad():
                    fake = self.generator(x, target, noise)
                self._step_discriminator(x, y, fake, optim_d)
                noise = self.data.normal(settings.batch)
                self._step_generator(x, target, noise, optim_g)
            if iteration % settings.eval_interval == 0:
                curve.append(self.evaluate(test_data))
            self.advance()
        return Trained(
            self.runs,
            self.calibration,
            self.generator,
            self.discriminator,
            torch.arange(len(curve)) * settings.eval_interval,
            *torch.stack(curve, dim=1),
        )

    def _step_generator(
        self,
        x: Tensor,
        target: Tensor,
        noise: Tensor,
        optimizer: torch.optim.Optimizer,
    ) -> Tensor:
        """Update G; return one sample per x, (R, N)."""
        count, number = self.num_calibrated, self.settings.num_samples
        everything = self.settings.adversarial_samples == 'all'
        fake = self.generator(x, target, noise)
        others = None
        if count:
            with torch.set_grad_enabled(everything):
                others = self._more_samples(x, target, number - 1)
        loss = self._adversarial_loss(x, fake, others if everything else None)
        if count:
            mean = (fake[:count] + others.sum(1)) / number
            # Samples are exchangeable: instead of through all of them, the
            # gradient may flow through one, times their number, which is the
            # same in expectation for a third of the work.
            weight = self.settings.cal_weight * (1 if everything else number)
            loss = loss + weight * squared_error(mean, target[:count])
        update(optimizer, loss)
        return fake.detach()

    def _adversarial_loss(
        self, x: Tensor, fake: Tensor, others: Tensor | None
    ) -> Tensor:
        """Sum over runs of G's adversarial loss.

        Args:
            x: (R, N).
            fake: A sample for each of them, (R, N).
            others: More samples of the runs with L_cal, (C, M - 1, N); each
                of these runs has the mean over all of its samples.
        """
        self.discriminator.requires_grad_(False)
        groups = [self.discriminator(x, fake)]
        if others is not None:
            count, number, _ = others.shape
            more = self.discriminator(
                x[:count].repeat(1, number), others.flatten(1), runs=count
            )
            logits = groups[0]
            groups = [torch.cat([logits[:count], more], 1), logits[count:]]
        return sum(
            len(logits) * self.adversarial.generator(logits)
            for logits in groups
            if len(logits)
        )

    def _more_samples(self, x: Tensor, target: Tensor, number: int) -> Tensor:
        """More samples of the runs with L_cal, (C, number, N)."""
        count = self.num_calibrated
        eps = self.cal_data.normal(number, x.shape[1])
        samples = self.generator(
            x[:count].repeat(1, number),
            target[:count].repeat(1, number),
            eps.flatten(1),
            runs=count,
        )
        return samples.view_as(eps)

    def _step_discriminator(
        self,
        x: Tensor,
        y: Tensor,
        fake: Tensor,
        optimizer: torch.optim.Optimizer,
    ) -> None:
        """Update D on the data against one sample per x."""
        self.discriminator.requires_grad_(True)
        logits = self.discriminator(x.repeat(1, 2), torch.cat([y, fake], 1))
        loss = self.adversarial.discriminator(*logits.chunk(2, dim=1))
        update(optimizer, len(self.runs) * loss)

    @torch.no_grad()
    def evaluate(self, data: BimodalData) -> Tensor:
        """Mean log density of samples at fresh x, plain and floored (2, R)."""
        x = data.uniform(self.settings.eval_points)
        noise = data.normal(self.settings.eval_points)
        samples = self.generator(x, self.calibration(x), noise)
        densities = (data.log_density, data.floored_log_density)
        return torch.stack([log(x, samples).mean(1) for log in densities])


def squared_error(mean: Tensor, target: Tensor) -> Tensor:
    """Sum over runs of `CalibrationLoss`'s squared-error form, (R, N)."""
    values = pixel_divergence(
        mean.unsqueeze(1), target.unsqueeze(1), 'squared_error'
    )
    return values.mean(1).sum()


def update(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """One step of the optimiser."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
