"""Rows of the page, from records: what was chosen, and how it scored."""

import math
import re
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mmcar.utils.errors import UserError

from .methods import METHODS, Setting, best_of
from .tasks import Task

SEEDS = 3  # of a finished row


@dataclass(frozen=True)
class Column:
    """How a figure is shown: heading, digits, factor."""

    heading: str
    digits: int = 3
    scale: float = 1.0

    def shown(self, value: float) -> str:
        """A figure in the column's unit, without the 0 before the point."""
        text = f'{self.scale * value:.{self.digits}f}'
        return re.sub(r'^(-?)0\.', r'\1.', text)


COLUMNS = {
    'GED_16': Column('GED 16'),
    'GED_100': Column('GED 100'),
    'HM-IoU_16': Column('HM-IoU 16'),
    'flip_error': Column('flip error, points', 1, 100),
    'ECE_samples': Column('ECE, %', 1, 100),
    'NLL_smoothed': Column('NLL'),
    'diversity_16': Column('diversity'),
    'flood_rate_16': Column('floods, %', 2, 100),
    'train_minutes': Column('minutes', 2),
    'sample_seconds': Column('16 samples, ms', 0, 1000),
    'sample_mb': Column('MB', 1),
    'parameters': Column('parameters, k', 0, 1e-3),
    'd_acc': Column("D's accuracy, %", 1, 100),
}
PLAIN = ('train_minutes', 'sample_seconds', 'sample_mb', 'parameters')


@dataclass(frozen=True)
class Row:
    """A method on a task: figures of every seed."""

    method: str
    runs: tuple[dict, ...]

    def values(self, key: str) -> list[float]:
        """A figure of every seed that has it."""
        found = [figures(run).get(key, math.nan) for run in self.runs]
        return [value for value in found if not math.isnan(value)]

    def mean(self, key: str) -> float:
        """Mean over seeds; NaN where there is none."""
        values = self.values(key)
        return statistics.mean(values) if values else math.nan

    def spread(self, key: str) -> float:
        """Standard deviation over seeds."""
        values = self.values(key)
        return statistics.stdev(values) if len(values) > 1 else math.nan

    @property
    def failed(self) -> int:
        """Number of seeds whose training became NaN."""
        return sum('failed' in run for run in self.runs)

    @property
    def seeds(self) -> str:
        """How many seeds there are, and how many of them failed."""
        failed = f', {self.failed} failed' if self.failed else ''
        return f'{len(self.runs)}{failed}'

    def cell(self, key: str) -> str:
        """Mean and spread, as the page shows them."""
        parts = [self.mean(key)]
        if key not in PLAIN:
            parts.append(self.spread(key))
        shown = [COLUMNS[key].shown(p) for p in parts if not math.isnan(p)]
        return ' ± '.join(shown)


def figures(run: dict) -> dict[str, float]:
    """All figures of a record by name."""
    costs = ('sample_seconds', 'sample_mb', 'parameters')
    return {
        **run['scores'],
        **{key: run[key] for key in costs if key in run},
        'train_minutes': run.get('train_seconds', math.nan) / 60,
        **{
            key: ends[-1]
            for logged in run.get('logged', ())
            for key, ends in logged.items()
            if key == 'd_acc'
        },
    }


def tuning(
    records: Sequence[dict], task: Task
) -> dict[str, dict[Setting, float]]:
    """GED 16 of every setting that was tried, by method.

    Records of variants that are no longer there do not count.
    """
    geds: dict[str, dict[Setting, float]] = defaultdict(dict)
    for record in records:
        if (record['task'], record['part']) == (task.name, 'tune'):
            setting = Setting.parse(record['setting'])
            if setting.variant in METHODS[record['method']].variants:
                ged = record['scores']['GED_16']
                geds[record['method']][setting] = ged
    return geds


def check_budget(
    records: Sequence[dict], task: Task, parts: Sequence[str]
) -> None:
    """Refuse to compare trainings of different length."""
    budgets = {
        record['budget']
        for record in records
        if record['task'] == task.name and record['part'] in parts
    }
    if len(budgets) > 1:
        shown = ' and '.join(f'{budget:g}' for budget in sorted(budgets))
        raise UserError(
            f'{task.name}: results with budgets of {shown} seconds; expected '
            'one: run all of them with one --budget, or take another '
            '--work-dir and empty results.json.'
        )


def rows_of(records: Sequence[dict], task: Task) -> list[Row]:
    """The methods that have been tested on a task, in the suite's order.

    Only runs of the setting that won the tuning count.

    Raises:
        UserError: Runs of the task had different budgets.
    """
    check_budget(records, task, ('tune',))
    check_budget(records, task, ('final', 'fewer'))
    rows = []
    for method, geds in tuning(records, task).items():
        winner = str(best_of(geds))
        runs = [
            record
            for record in records
            if (record['task'], record['part']) == (task.name, 'final')
            and (record['method'], record['setting']) == (method, winner)
        ]
        if runs:
            runs.sort(key=lambda run: run['seed'])
            rows.append(Row(method, tuple(runs)))
    return sorted(rows, key=lambda row: [*METHODS].index(row.method))


def methods_of(task: Task) -> list[str]:
    """Methods that can do the task, in the suite's order."""
    return [name for name, method in METHODS.items() if method.fits(task)]
