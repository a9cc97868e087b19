"""This code against an earlier version of it, in alternating processes.

Both predict an image with 16 samples, with the same weights and seed and an F
that was computed before, and make steps of G. ``same_pixels`` is the share of
pixels that both give the same class, in all samples. Random weights are the
earlier version's. The last step is that of the recipe's U-Net
(car_recipe_small), which the quickstart trained before it took a
``TunedSampler``, on the quickstart's F, the trained one of ``--checkpoint``.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

import numpy as np

HERE = Path(__file__).resolve()
ROOT = HERE.parents[3]
DRAWN = {
    'lidc': 'RefinementUNet, 128x128, 2 classes',
    'cityscapes24': 'RefinementUNet, 256x512, 24 classes',
    'free': 'training-free, 256x512, 24 classes',
}
STEPS = {
    ('lidc', 2, 20): 'step of G, LIDC, batch 2, 20 samples',
    ('recipe', 8, 8): "step of G, quickstart's F, batch 8, 8 samples",
}


class Checkout:
    """A process that works with the code of a checkout.

    Args:
        root: Its folder.
    """

    def __init__(self, root: Path) -> None:
        command = [sys.executable, HERE.parent / 'worker.py', root]
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, 'PYTHONPATH': str(root)},
            cwd=root,
        )
        self.root = root

    def do(self, *job: object) -> float:
        """Have a job done; see the methods of `worker.Worker`."""
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(json.dumps(job) + '\n')
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ''
        if not answer:
            raise RuntimeError(f'{self.root}: the process died at {job}')
        return json.loads(answer)

    def __enter__(self) -> 'Checkout':
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.process.stdin.close()
        self.process.wait()


def turns(ours: Checkout, other: Checkout, job: list, repeats: int) -> dict:
    """Median seconds of a job in both, in turns after one to warm up."""
    seconds: dict[Checkout, list[float]] = {ours: [], other: []}
    for turn in range(repeats + 1):
        for side, own in seconds.items():
            taken = side.do(*job)
            if turn:
                own.append(taken)
    medians = [statistics.median(own) for own in seconds.values()]
    return dict(ours=medians[0], other=medians[1])


def same_pixels(
    ours: Checkout, other: Checkout, name: str, folder: Path
) -> float:
    """Share of the pixels of 16 samples on which both agree."""
    maps = []
    for index, side in enumerate((ours, other)):
        file = str(folder / f'{index}.npy')
        side.do('draw', name, file)
        maps.append(np.load(file))
    if maps[0].shape != maps[1].shape or maps[0].max() == maps[0].min():
        raise RuntimeError(f'{name}: nothing to compare, or of two shapes')
    return float((maps[0] == maps[1]).mean())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the subcommand."""
    parser.add_argument(
        '--baseline', type=Path, required=True, help='the earlier version'
    )
    parser.add_argument(
        '--checkpoint',
        help='a trained quickstart; without one, its F is random',
    )
    parser.add_argument('--repeats', type=int, default=3)


def run(args: argparse.Namespace) -> list[dict]:
    """Measure; print and return the rows."""
    rows = []
    with (
        tempfile.TemporaryDirectory() as temporary,
        Checkout(ROOT) as ours,
        Checkout(args.baseline.resolve()) as other,
    ):
        folder = Path(temporary)
        for name in (*DRAWN, 'recipe'):
            file = str(folder / f'{name}.pth')
            other.do('save', name, file)
            for side in (ours, other):
                side.do('load', name, file)
        if args.checkpoint:
            trained = str(Path(args.checkpoint).resolve())
            for side in (ours, other):
                side.do('load', 'recipe', trained, 'decode_head.calibration.')
        for name, case in DRAWN.items():
            share = same_pixels(ours, other, name, folder)
            job = ['draw', name, str(folder / 'timed.npy'), True]
            times = turns(ours, other, job, args.repeats)
            rows.append(dict(case=case, **times, same_pixels=share))
        for step, case in STEPS.items():
            times = turns(ours, other, ['step', *step], args.repeats)
            rows.append(dict(case=case, **times, same_pixels=None))
    for row in rows:
        row['times_ours'] = row['other'] / row['ours']
        print(
            f'  {row["case"]:46}{row["ours"]:8.3f} s{row["other"]:8.3f} s'
            f'{row["times_ours"]:7.2f} x  {row["same_pixels"]}'
        )
    return rows
