"""How sampling time grows with samples, pixels and classes.

The exponent is the slope of a line through logarithms of size and time: 1
where cost is proportional.
"""

import argparse
import math

import numpy as np
import torch
from benchmark_sampling import inputs
from benchmark_timing import alternate

from mmcar.models import GumbelSampler, RefinementUNet

BASE = dict(samples=8, side=128, classes=8)
STEPS = dict(samples=(8, 16, 32), side=(128, 256, 512), classes=(8, 16, 32))


@torch.no_grad()
def draw(kind: type, samples: int, side: int, classes: int) -> object:
    """A call that draws so many samples of an image of this size."""
    image, log_probs = inputs(classes, (side, side))
    sampler = kind(classes).eval()
    z = torch.randn(samples, 1, sampler.noise_size)

    @torch.no_grad()
    def call() -> None:
        features = sampler.encode(image, log_probs)
        sampler.sample_labels(features, z)

    return call


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the subcommand."""
    parser.add_argument('--repeats', type=int, default=3)


def run(args: argparse.Namespace) -> list[dict]:
    """Fit an exponent per sampler and quantity; print and return them."""
    rows = []
    for kind in (GumbelSampler, RefinementUNet):
        for key, values in STEPS.items():
            calls = {
                str(value): draw(kind, **{**BASE, key: value})
                for value in values
            }
            seconds = list(alternate(calls, args.repeats).values())
            # Pixels grow with the square of the side.
            sizes = [v**2 if key == 'side' else v for v in values]
            slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
            quantity = 'pixels' if key == 'side' else key
            rows.append(
                dict(
                    case=f'{kind.__name__}, {quantity}',
                    sizes=sizes,
                    seconds=seconds,
                    exponent=float(slope),
                )
            )
            assert math.isfinite(slope)
            print(f'  {rows[-1]["case"]:44} exponent {slope:.2f}')
    return rows
