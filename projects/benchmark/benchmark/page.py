"""The page, from records: tables, settings, verdicts, runs."""

import math
import re
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mmcar.utils.errors import UserError
from mmcar.utils.files import write_file

from .methods import DIET_RATE, METHODS, Setting
from .tasks import TASKS, Task

MARKED = re.compile(r'(<!-- table: (.+?) -->\n).*?(<!-- end -->)', re.DOTALL)
SEEDS = 3  # of a finished row
SMALLER_IS_BETTER = ('GED_16', 'flip_error')


@dataclass(frozen=True)
class Column:
    """How a figure is shown: heading, digits, factor."""

    heading: str
    digits: int = 3
    scale: float = 1.0


COLUMNS = {
    'GED_16': Column('GED 16'),
    'GED_100': Column('GED 100'),
    'HM-IoU_16': Column('HM-IoU 16'),
    'flip_error': Column('flip error, points', 1, 100),
    'ECE_samples': Column('ECE, %', 1, 100),
    'NLL': Column('NLL'),
    'diversity_16': Column('diversity'),
    'flood_rate_16': Column('floods, %', 2, 100),
    'train_minutes': Column('minutes', 2),
    'sample_seconds': Column('16 samples, ms', 0, 1000),
    'sample_mb': Column('MB', 0),
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

    def cell(self, key: str) -> str:
        """Mean and spread, as the page shows them."""
        column = COLUMNS[key]
        parts = [self.mean(key)]
        if key not in PLAIN:
            parts.append(self.spread(key))
        shown = [
            f'{column.scale * part:.{column.digits}f}'
            for part in parts
            if not math.isnan(part)
        ]
        return ' ± '.join(re.sub(r'^0\.', '.', part) for part in shown)


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


def rows_of(records: Sequence[dict], task: Task) -> list[Row]:
    """The methods that have been tested on a task, in the suite's order."""
    runs = defaultdict(list)
    for record in records:
        if record['task'] == task.name and record['part'] == 'final':
            runs[record['method']].append(record)
    return [
        Row(name, tuple(sorted(runs[name], key=lambda run: run['seed'])))
        for name in METHODS
        if name in runs
    ]


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A markdown table; the first row is the head."""
    head, *body = (f'| {" | ".join(cells)} |' for cells in rows)
    return '\n'.join([head, '|---' * len(rows[0]) + '|', *body])


def methods_of(task: Task) -> list[str]:
    """Methods that can do the task, in the suite's order."""
    return [name for name, method in METHODS.items() if method.fits(task)]


def score_table(records: Sequence[dict], task: Task) -> str:
    """Scores and costs of every method, and what is possible."""
    keys = [
        key
        for key in COLUMNS
        if key not in ('HM-IoU_16', 'flip_error', 'd_acc')
        or key == task.second
    ]
    heads = [COLUMNS[key].heading for key in keys]
    lines = [['', *heads, 'seeds']]
    found = {row.method: row for row in rows_of(records, task)}
    for name in methods_of(task):
        method = METHODS[name]
        title = f'**{method.title}**' if method.ours else method.title
        row = found.get(name)
        cells = [row.cell(key) if row else '' for key in keys]
        lines.append([title, *cells, str(len(row.runs)) if row else '0'])
    for record in records:
        if record['task'] == task.name and record['part'] == 'bound':
            row = Row(record['method'], (record,))
            cells = [row.cell(key) for key in keys]
            lines.append(['*draws of annotations*', *cells, '1'])
    return markdown(lines)


def better(key: str, one: float, other: float) -> float:
    """By how much one figure is better than another; below 0, worse."""
    return other - one if key in SMALLER_IS_BETTER else one - other


def verdict(rows: Sequence[Row], key: str) -> tuple[bool, str]:
    """Who wins by a score, ours or a peer, and by how much.

    Returns:
        Whether ours wins by more than the spread, and a sentence.
    """
    groups = [
        [row for row in rows if METHODS[row.method].ours == ours]
        for ours in (True, False)
    ]
    if not all(groups):
        return False, 'not enough runs yet.'
    best = [
        max(group, key=lambda row: better(key, row.mean(key), 0.0))
        for group in groups
    ]
    ours, peer = best
    column = COLUMNS[key]
    margin = better(key, ours.mean(key), peer.mean(key))
    spreads = [r.spread(key) for r in best if not math.isnan(r.spread(key))]
    spread = max(spreads, default=math.nan)
    wins = margin > spread  # False where the spread is not known
    names = [f'{METHODS[r.method].title} {r.cell(key)}' for r in best]
    result = 'ahead' if margin > 0 else 'behind'
    size = f'{column.scale * abs(margin):.{column.digits}f}'
    against = (
        f'a spread of {column.scale * spread:.{column.digits}f}'
        if spreads
        else 'an unknown spread'
    )
    if not wins and margin > 0:
        result = 'ahead, but not by more than the spread'
    return wins, (
        f'{column.heading}: {names[0]} against {names[1]}, {result} by {size} '
        f'({against}).'
    )


def summary(records: Sequence[dict]) -> str:
    """Who wins where; first, where ours does not."""
    lost, won, missing = [], [], []
    for task in TASKS.values():
        if task.known:  # nobody to win against
            continue
        rows = rows_of(records, task)
        if not rows:
            missing.append(f'- *{task.title}*: did not run yet.')
            continue
        found = [verdict(rows, key) for key in ('GED_16', task.second)]
        text = ' '.join(sentence for _, sentence in found)
        text += unfinished(rows, task)
        if all(wins for wins, _ in found):
            won.append(f'- **{task.title}: ours wins.** {text}')
        else:
            lost.append(
                f'- **{task.title}: ours does not win in both.** {text}'
            )
    return '\n'.join([budget_line(records), '', *lost, *won, *missing])


def unfinished(rows: Sequence[Row], task: Task) -> str:
    """What is missing, if anything."""
    fewest = min(len(row.runs) for row in rows)
    expected = len(methods_of(task))
    if len(rows) == expected and fewest >= SEEDS:
        return ''
    return (
        f' *Not finished: {len(rows)} of {expected} methods, at least '
        f'{fewest} of {SEEDS} seeds.*'
    )


def budget_line(records: Sequence[dict]) -> str:
    """What every training had."""
    budgets = sorted(
        {
            record['budget']
            for record in records
            if 'budget' in record and record['part'] != 'diet'
        }
    )
    shown = ' or '.join(f'{budget:g}' for budget in budgets) or 'no'
    return f'Budget of a training: {shown} processor seconds.'


def settings_table(records: Sequence[dict]) -> str:
    """Every setting that was tried, with its score; the winner in bold."""
    lines = [['task', 'method', 'settings and their GED 16, winner bold']]
    tuned = defaultdict(dict)
    for record in records:
        if record['part'] == 'tune' and record['seed'] == 0:
            key = record['task'], record['method']
            tuned[key][record['setting']] = record['scores']['GED_16']
    for task in TASKS:
        for method in METHODS:
            scores = tuned.get((task, method))
            if not scores:
                continue
            best = min(scores, key=scores.__getitem__)
            shown = [
                f'{"**" if s == best else ""}{s}: {v:.3f}'
                f'{"**" if s == best else ""}'
                for s, v in scores.items()
            ]
            title = METHODS[method].title
            lines.append([task, title, '; '.join(shown)])
    return markdown(lines)


def adversary_table(records: Sequence[dict]) -> str:
    """The recipe with several diets of D, on held-out training images."""
    keys = 'GED_16', 'HM-IoU_16', 'flip_error', 'flood_rate_16', 'd_acc'
    heads = [COLUMNS[key].heading for key in keys]
    lines = [['task', 'D', *heads, 'budget, s', 'seeds']]
    for task in TASKS.values():
        for variant in METHODS['recipe'].variants:
            setting = str(Setting(variant, DIET_RATE))
            runs = [
                record
                for record in records
                if record['part'] == 'diet'
                and (record['task'], record['method'], record['setting'])
                == (task.name, 'recipe', setting)
            ]
            if runs:
                row = Row('recipe', tuple(runs))
                cells = [row.cell(key) for key in keys]
                cells += [f'{runs[0]["budget"]:g}', str(len(runs))]
                lines.append([task.name, variant, *cells])
    return markdown(lines)


def runs_table(records: Sequence[dict]) -> str:
    """Where every run of the score tables lies, and what it was made with."""
    lines = [
        ['row', 'seed', 'folder', 'trainings: iterations', 'commit'],
    ]
    for task in TASKS.values():
        for row in rows_of(records, task):
            for run in row.runs:
                trainings = [
                    f'`{Path(folder).name}`: {iterations}'
                    for folder, iterations in zip(
                        run['trainings'], run['iterations'], strict=True
                    )
                ]
                lines.append(
                    [
                        f'{task.name}, {METHODS[row.method].title}',
                        str(run['seed']),
                        f'`{run["folder"]}`',
                        ', '.join(trainings),
                        (run['commit'] or '')[:9],
                    ]
                )
    return markdown(lines)


def all_tables(records: Sequence[dict]) -> dict[str, str]:
    """Every generated part of the page by its name."""
    return {
        'summary': summary(records),
        **{name: score_table(records, task) for name, task in TASKS.items()},
        'settings': settings_table(records),
        'adversary': adversary_table(records),
        'runs': runs_table(records),
    }


def fill_page(text: str, records: Sequence[dict]) -> str:
    """Put the tables between their marks.

    Raises:
        UserError: A mark names no table, or a table has no mark.
    """
    tables = all_tables(records)
    marks = [match[2] for match in MARKED.finditer(text)]
    if sorted(marks) != sorted(tables):
        raise UserError(
            f'The page has marks of the tables {sorted(marks)}; expected '
            f'each of {sorted(tables)} once.'
        )
    return MARKED.sub(lambda m: f'{m[1]}{tables[m[2]]}\n{m[3]}', text)


def write_page(page: Path, records: Sequence[dict]) -> None:
    """Write the tables into a page."""
    write_file(page, fill_page(page.read_text(), records).encode())
