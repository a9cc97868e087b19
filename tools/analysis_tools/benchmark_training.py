"""A step of the generator: ours against a plain loop over samples.

Both have the same networks, losses and optimiser. The loop runs the whole
generator once per sample, as code without a shared encoder does.
"""

import argparse

import torch
from benchmark_sampling import inputs
from benchmark_timing import compare
from torch import Tensor

from mmcar.models import DCGANDiscriminator, RefinementUNet
from mmcar.models.losses.calibration import calibration_loss

SAMPLES = 20


def step_versions(size: tuple[int, int], batch: int) -> dict:
    """Calls that make one step each, by version."""
    image, log_probs = inputs(2, size)
    image = image.repeat(batch, 1, 1, 1)
    log_probs = log_probs.repeat(batch, 1, 1, 1)
    generator = RefinementUNet(2)
    judge = DCGANDiscriminator(2, base_channels=16).requires_grad_(False)
    optimizer = torch.optim.Adam(generator.parameters(), lr=1e-5)
    z = torch.randn(SAMPLES, batch, generator.noise_size)

    def update(samples: Tensor) -> None:
        logits = judge(image, samples.flatten(0, 1))
        loss = calibration_loss(samples.mean(0), log_probs.exp())
        loss = 5 * loss + 10 * torch.nn.functional.softplus(-logits).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def ours() -> None:
        update(generator(image, log_probs, z).results)

    def loop() -> None:
        samples = [generator(image, log_probs, one[None]).results for one in z]
        update(torch.cat(samples))

    return {'ours': ours, 'loop over samples': loop}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the subcommand."""
    parser.add_argument('--repeats', type=int, default=3)
    parser.add_argument('--side', type=int, default=128)


def run(args: argparse.Namespace) -> list[dict]:
    """Measure; print and return the rows."""
    side = args.side
    case = f'step of G, {side}x{side}, batch 1, {SAMPLES} samples'
    return compare(case, step_versions((side, side), 1), args.repeats)
