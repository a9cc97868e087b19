"""The whole experiment: train, compare, write."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from mmcar.utils.files import write_file

from .data import Run, grid
from .figures import save_figures
from .ordinary import OrdinaryTrainer
from .report import describe_branches, format_table, write_csv
from .training import NOTEBOOK, Settings, Trained, Trainer

QUICK_GRID = dict(pis=(0.5, 0.9), sigmas=(0.02,), repeats=3)
# A larger step for fewer iterations.
QUICK_SETTINGS = dict(
    calibration_iters=500, calibration_batch=300, iters=1500, lr=5e-4
)


@dataclass(frozen=True)
class Seconds:
    """Time on the clock, and of all processors together."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> 'Seconds':
        """Read both clocks."""
        return cls(time.perf_counter(), time.process_time())

    def __sub__(self, other: 'Seconds') -> 'Seconds':
        return Seconds(self.wall - other.wall, self.cpu - other.cpu)

    def __mul__(self, factor: float) -> 'Seconds':
        return Seconds(self.wall * factor, self.cpu * factor)


def train_with_progress(
    runs: Sequence[Run], settings: Settings, title: str
) -> tuple[Trained, Seconds]:
    """Train under a progress bar; return the result and the time taken."""
    progress = Progress(
        TextColumn('{task.description}'),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn('left'),
        TimeRemainingColumn(),
    )
    with progress:
        total = settings.calibration_iters + settings.iters
        task = progress.add_task(title, total=total)
        start = Seconds.now()
        trainer = Trainer(runs, settings, lambda: progress.advance(task))
        return trainer.train(), Seconds.now() - start


def time_sequential(
    runs: Sequence[Run], settings: Settings, number: int
) -> Seconds:
    """Time of training all runs singly, estimated from ``number`` of them.

    They are spread over the grid, trained in ordinary PyTorch, and do a tenth
    of the iterations each.
    """
    short = replace(
        settings,
        calibration_iters=settings.calibration_iters // 10,
        iters=settings.iters // 10,
    )
    # Evenly from both halves of the grid: with L_cal and without.
    chosen = [runs[(i * len(runs)) // number] for i in range(number)]
    start = Seconds.now()
    for i, run in enumerate(chosen):
        print(f'Timing run {i + 1} of {number} alone')
        OrdinaryTrainer(run, short).train()
    return (Seconds.now() - start) * (10 * len(runs) / number)


def run_experiment(
    out: Path,
    quick: bool = False,
    seed: int = 0,
    compare_sequential: int = 0,
    notebook: bool = False,
) -> Trained:
    """Train the grid and write figures, CSV and table into a folder.

    Args:
        out: The folder; made if it does not exist.
        quick: A reduced grid, in seconds.
        seed: Seed of everything.
        compare_sequential: Number of runs to time singly as well.
        notebook: Settings of the authors' notebook where ours differ.
    """
    out.mkdir(parents=True, exist_ok=True)
    runs = grid(**QUICK_GRID) if quick else grid()
    changes = (QUICK_SETTINGS if quick else {}) | (
        NOTEBOOK if notebook else {}
    )
    settings = Settings(seed=seed, **changes)
    trained, taken = train_with_progress(
        runs, settings, f'{len(runs)} runs at once'
    )
    lines = [
        format_table(trained),
        '',
        "With the floor of the authors' notebook, log(density + 1e-11):",
        '',
        format_table(trained, floored=True),
        '',
        describe_branches(trained),
        '',
        f'{len(runs)} runs at once: {taken.wall:.0f} s, '
        f'{taken.cpu:.0f} s of processor time.',
    ]
    if compare_sequential:
        single = time_sequential(runs, settings, compare_sequential)
        lines.append(
            f'One after the other (from {compare_sequential} runs): '
            f'{single.wall:.0f} s, {single.cpu:.0f} s of processor time; '
            f'ratio {single.wall / taken.wall:.1f}, of processor time '
            f'{single.cpu / taken.cpu:.1f}.'
        )
    report = '\n'.join(lines)
    write_csv(trained, out / 'regression.csv')
    write_file(out / 'regression.md', f'{report}\n'.encode())
    paths = save_figures(trained, out)
    names = ['regression.csv', 'regression.md', *(p.name for p in paths)]
    print(f'{report}\n\nWritten to {out}: {", ".join(names)}')
    return trained
