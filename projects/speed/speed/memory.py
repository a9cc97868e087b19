"""Peak memory of drawing 16 samples, and of a step of G.

Every version runs in a process of its own; its memory is what it adds to the
process that holds the input, log-probabilities of ``input_mb``. Label maps of
the samples take ``maps_mb``; ``whole prediction`` also makes their mean, as
large as the input, and a decision; at a temperature there are probabilities
of a sample besides. A step of the paper's G, without its batch
norm, which chunks exclude, adds to model, optimiser and gradients. The
kernel's record of the peak is reset before (Linux only): making the input
takes more than most versions do.
"""

import argparse
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import torch
from mmengine.registry import init_default_scope

from mmcar.models import GumbelSampler

from .sampling import SAMPLES, GivenProbabilities, inputs
from .timing import forget_peak, free_at_once, resident
from .worker import MODELS_OF, ROOT, build, trainer

CLASSES = 19
CHUNK = 4


def added_mb(call: Callable[[], object]) -> float:
    """Megabytes that a call adds to this process at its peak."""
    before = forget_peak()
    call()
    return resident('VmHWM') - before


@torch.no_grad()
def draw(
    version: str,
    size: tuple[int, int],
    length: float | None,
    temperature: float = 0.0,
) -> dict:
    """Row of one version of drawing; runs in a process of its own."""
    sampler = GumbelSampler(
        CLASSES, correlation_length=length, temperature=temperature
    )
    z = torch.randn(SAMPLES, 1, sampler.noise_size)
    image, log_probs = inputs(CLASSES, (32, 32))
    GivenProbabilities(log_probs, sampler).predict(image)  # loads libraries
    image, log_probs = inputs(CLASSES, size)
    model = GivenProbabilities(log_probs, sampler)

    def probabilities() -> None:
        for noise in z.split(8):
            sampler.sample(log_probs, noise).argmax(dim=2)

    calls = {
        'ours': lambda: sampler.sample_labels(log_probs, z),
        'whole prediction': lambda: model.predict(image),
        'probabilities, chunks of 8': probabilities,
    }
    kind = 'one number per class' if length is None else 'fields'
    if temperature:
        kind = f'at temperature {temperature}'
    return dict(
        case=f'training-free {size[0]}x{size[1]}, 19 classes, {kind}',
        version=version,
        peak_mb=added_mb(calls[version]),
        input_mb=log_probs.nbytes / 2**20,
        maps_mb=SAMPLES * size[0] * size[1] / 2**20,
    )


def step(samples: int, chunk: int | None, size: tuple[int, int]) -> dict:
    """Row of a step of G with M samples; runs in a process of its own."""
    init_default_scope('mmseg')
    model = build(ROOT, 'lidc', {'decode_head.generator.norm_cfg': None})
    model.train_cfg['samples_per_chunk'] = chunk
    call = trainer(model, size, 1, samples)
    call()  # makes the optimiser's averages
    at_once = 'all at once' if chunk is None else f'chunks of {chunk}'
    return dict(
        case=f'step of G, {size[0]}x{size[1]}, batch 1',
        version=f'M = {samples}, {at_once}',
        peak_mb=added_mb(call),
        input_mb=None,
        maps_mb=None,
    )


def prepare() -> None:
    """Make the memory of this process comparable."""
    torch.set_num_threads(1)
    free_at_once()


def apart(call: Callable[[], dict]) -> dict:
    """Make a row in a process of its own; print it."""
    context = multiprocessing.get_context('fork')
    with ProcessPoolExecutor(1, context, prepare) as pool:
        row = pool.submit(call).result()
    print(f'  {row["case"]:58}{row["version"]:28}{row["peak_mb"]:8.0f} MB')
    return row


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the subcommand."""
    parser.add_argument(
        '--shrink', type=int, default=1, help='divide image sides by this'
    )


def run(args: argparse.Namespace) -> list[dict]:
    """Measure every version; print and return the rows."""
    large = 1024 // args.shrink, 2048 // args.shrink
    side = MODELS_OF['lidc'][2][0] // args.shrink
    calls = [
        partial(draw, version, large, length)
        for version, length in (
            ('ours', None),
            ('whole prediction', None),
            ('probabilities, chunks of 8', None),
            ('ours', 32.0),
            ('whole prediction', 32.0),
        )
    ]
    calls.append(partial(draw, 'whole prediction', large, None, 0.05))
    calls += [
        partial(step, samples, chunk, (side, side))
        for samples, chunk in ((4, CHUNK), (20, CHUNK), (20, None))
    ]
    return [apart(call) for call in calls]
