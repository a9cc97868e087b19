"""Peak memory of drawing 16 samples, beside the log-probabilities.

Every version runs in a process of its own; its memory is what it adds to the
process that holds the input. The kernel's record of the peak is reset before
(Linux only): making the input takes more than most versions do.
"""

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import torch
from benchmark_sampling import SAMPLES, inputs
from benchmark_timing import forget_peak, resident

from mmcar.models import GumbelSampler

CLASSES = 19


def measure(version: str, size: tuple[int, int], length: float | None) -> dict:
    """Peak megabytes of one version; runs in a process of its own."""
    torch.set_num_threads(1)
    _, log_probs = inputs(CLASSES, size)
    sampler = GumbelSampler(CLASSES, correlation_length=length)
    z = torch.randn(SAMPLES, 1, sampler.noise_size)
    before = forget_peak()
    if version == 'ours':
        sampler.sample_labels(log_probs, z)
    else:
        for noise in z.split(8):
            sampler.sample(log_probs, noise).argmax(dim=2)
    kind = 'one number per class' if length is None else 'fields'
    return dict(
        case=f'training-free {size[0]}x{size[1]}, 19 classes, {kind}',
        version=version,
        peak_mb=resident('VmHWM') - before,
        input_mb=log_probs.nbytes / 2**20,
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the subcommand."""
    parser.add_argument(
        '--shrink', type=int, default=1, help='divide image sides by this'
    )


def run(args: argparse.Namespace) -> list[dict]:
    """Measure every version; print and return the rows."""
    context = multiprocessing.get_context('fork')
    size = 1024 // args.shrink, 2048 // args.shrink
    rows = []
    for version, length in (
        ('ours', None),
        ('probabilities, chunks of 8', None),
        ('ours', 32.0),
    ):
        with ProcessPoolExecutor(1, context) as pool:
            row = pool.submit(measure, version, size, length).result()
        print(f'  {row["case"]:52}{version:30}{row["peak_mb"]:8.0f} MB')
        rows.append(row)
    return rows
