"""How time grows with samples, pixels, classes, annotators and ranks.

The exponent is the slope of a line through logarithms of size and time: 1
where cost is proportional. Encoding an image costs as much as some samples,
so that few samples grow by less: samples begin at 32. Of ranks it is that of
the processor seconds of one rank's step, each with an image of its own: 0
where two ranks on two free cores are twice as fast as one, 0.23 where they
are 1.7 times as fast; they share the memory and the processor's cache.
"""

import argparse
import math
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from mmcar.cli import keep_freed_memory
from mmcar.evaluation import ged
from mmcar.models import GumbelSampler, RefinementUNet
from mmcar.sampling.kernels import lay_out_weights

from .sampling import inputs
from .timing import alternate, processor_seconds

BASE = dict(samples=8, side=128, classes=8)
STEPS = dict(samples=(32, 64, 128), side=(128, 256, 512), classes=(8, 16, 32))
SCORE_BASE = dict(samples=16, annotators=4, side=256)
SCORE_STEPS = dict(
    samples=(32, 64, 128), annotators=(4, 16, 64), side=(256, 512, 1024)
)


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


def score(samples: int, annotators: int, side: int) -> Callable[[], object]:
    """A call that takes the GED of so many samples and labels."""
    maps = torch.randint(2, (samples + annotators, side, side))
    maps = maps.to(torch.uint8)
    return lambda: ged(
        maps[:samples], maps[samples:], num_classes=2, classes=(1,)
    )


def step_seconds(
    rank: int, ranks: int, steps: int, side: int, file: str
) -> list[float]:
    """Median seconds of a rank's step of G: processor's and clock's."""
    torch.set_num_threads(1)
    keep_freed_memory()  # a new process does not inherit it
    os.environ['GLOO_SOCKET_IFNAME'] = 'lo'
    dist.init_process_group(
        'gloo', init_method=f'file://{file}', rank=rank, world_size=ranks
    )
    seconds = _timed_steps(steps, side)
    # The network is gone by now: as the last owner of the group it would
    # wait for a thread that waits for it.
    dist.destroy_process_group()
    return np.median(seconds, axis=0).tolist()


def _timed_steps(steps: int, side: int) -> list[tuple[float, float]]:
    """Seconds of steps of G under DDP: processor's and clock's."""
    torch.manual_seed(0)
    image, log_probs = inputs(2, (side, side))
    generator = RefinementUNet(2, norm_cfg=None)
    lay_out_weights(generator)
    network = DistributedDataParallel(generator)
    z = torch.randn(20, 1, network.module.noise_size)

    def step() -> None:
        network(image, log_probs, z).square().mean().backward()

    def timed() -> tuple[float, float]:
        start = time.perf_counter()
        return processor_seconds(step), time.perf_counter() - start

    step()
    return [timed() for _ in range(steps)]


def rank_seconds(ranks: int, steps: int, side: int) -> list[float]:
    """Seconds of the step of the slowest of so many ranks, both kinds."""
    context = multiprocessing.get_context('spawn')
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(ranks, context) as pool,
    ):
        file = os.path.join(folder, 'store')
        calls = [
            pool.submit(step_seconds, rank, ranks, steps, side, file)
            for rank in range(ranks)
        ]
        return np.max([call.result() for call in calls], axis=0).tolist()


def rank_rows(steps: int, side: int) -> list[dict]:
    """Compare a step of one rank with that of two, in turns.

    Waiting for another rank costs no processor time: hence the clock's, too.
    """
    numbers = [1, 2]
    turns = [
        [rank_seconds(ranks, steps, side) for ranks in numbers]
        for _ in range(3)
    ]
    seconds = np.median(turns, axis=0).T.tolist()
    cases = 'step of G under DDP, ranks (gloo)', 'the same, on the clock'
    return [
        row(case, numbers, own)
        for case, own in zip(cases, seconds, strict=True)
    ]


def row(case: str, sizes: list[int], seconds: list[float]) -> dict:
    """Fit the exponent, and print it."""
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    assert math.isfinite(slope)
    print(f'  {case:44} exponent {slope:.2f}')
    return dict(case=case, sizes=sizes, seconds=seconds, exponent=slope)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the subcommand."""
    parser.add_argument('--repeats', type=int, default=3)
    parser.add_argument(
        '--side', type=int, default=128, help="of the ranks' images"
    )


def run(args: argparse.Namespace) -> list[dict]:
    """Fit an exponent per quantity; print and return them."""
    rows = []

    def measure(name: str, make: Callable, base: dict, steps: dict) -> None:
        for key, values in steps.items():
            calls = {str(v): make(**{**base, key: v}) for v in values}
            seconds = list(alternate(calls, args.repeats).values())
            # Pixels grow with the square of the side.
            sizes = [v**2 if key == 'side' else v for v in values]
            quantity = 'pixels' if key == 'side' else key
            rows.append(row(f'{name}, {quantity}', sizes, seconds))

    for kind in (GumbelSampler, RefinementUNet):
        measure(kind.__name__, partial(draw, kind), BASE, STEPS)
    measure('GED', score, SCORE_BASE, SCORE_STEPS)
    return [*rows, *rank_rows(args.repeats, args.side)]
