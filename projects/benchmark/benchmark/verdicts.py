"""Who wins, in sentences, from records."""

import math
from collections.abc import Sequence
from statistics import mean, stdev

from .methods import DIET_RATE, METHODS, Setting
from .refined import DIETS, NO_D
from .rows import (
    COLUMNS,
    SEEDS,
    Row,
    check_budget,
    figures,
    methods_of,
    rows_of,
    tuning,
)
from .tasks import TASKS, Task

SMALLER_IS_BETTER = ('GED_16', 'flip_error', 'flood_rate_16')
CHANCE = 0.5  # D's accuracy, had it learnt nothing
ABOVE_CHANCE = 0.05


def better(key: str, one: float, other: float) -> float:
    """By how much one figure is better than another; below 0, worse."""
    return other - one if key in SMALLER_IS_BETTER else one - other


def spread_of(key: str, *rows: Row) -> float:
    """The larger spread; infinite where one is not known."""
    spreads = [row.spread(key) for row in rows]
    return math.inf if any(map(math.isnan, spreads)) else max(spreads)


def candidate(
    records: Sequence[dict], task: Task, rows: Sequence[Row]
) -> Row | None:
    """The row of ours that stands for all: best on held-out images."""
    tuned = tuning(records, task)

    def ged(row: Row) -> float:
        found = [g for g in tuned[row.method].values() if not math.isnan(g)]
        return min(found, default=math.inf)

    ours = [row for row in rows if METHODS[row.method].ours]
    return min(ours, key=ged, default=None)


def verdict(ours: Row, others: Sequence[Row], key: str) -> tuple[bool, str]:
    """Whether a row of ours beats every other, and by how much.

    A win is one by more than the spread over seeds, the larger of the two
    rows'. One without a score has failed and is beaten.

    Returns:
        Whether it wins, and a sentence about the one that comes closest.
    """
    column = COLUMNS[key]
    name = METHODS[ours.method].title
    scored = [other for other in others if other.values(key)]
    if not scored or not ours.values(key):
        return False, f'{column.heading}: not enough scores of {name}.'

    def margin(other: Row) -> float:
        return better(key, ours.mean(key), other.mean(key))

    def beyond(other: Row) -> float:
        return margin(other) - spread_of(key, ours, other)

    closest = min(scored, key=lambda other: (beyond(other), margin(other)))
    wins, ahead = beyond(closest) > 0, margin(closest)
    spread = spread_of(key, ours, closest)
    against = (
        'an unknown spread'
        if math.isinf(spread)
        else f'a spread of {column.shown(spread)}'
    )
    result = 'ahead' if ahead > 0 else 'behind'
    if ahead > 0 and not wins:
        result = 'ahead, but not by more than the spread,'
    lost = [METHODS[p.method].title for p in scored if beyond(p) <= 0]
    rest = [title for title in lost if title != METHODS[closest.method].title]
    text = (
        f'{column.heading}: {name} {ours.cell(key)} against '
        f'{METHODS[closest.method].title} {closest.cell(key)}, {result} by '
        f'{column.shown(abs(ahead))} ({against})'
    )
    if rest:
        text += f'; not beaten either: {", ".join(rest)}'
    return wins, f'{text}.'


def summary(records: Sequence[dict]) -> str:
    """Who wins where; first, where ours does not."""
    lost, won, missing = [], [], []
    for task in TASKS.values():
        if task.known:  # nobody to win against
            continue
        rows = rows_of(records, task)
        ours = candidate(records, task, rows)
        others = [row for row in rows if not METHODS[row.method].ours]
        if ours is None or not others:
            missing.append(f'- *{task.title}*: did not run yet.')
            continue
        keys = ('GED_16', task.second)
        found = [verdict(ours, others, key) for key in keys]
        text = ' '.join(sentence for _, sentence in found)
        if ours.failed:
            text += f' {ours.failed} of its seeds failed.'
        rest = unfinished(rows, task)
        if not all(wins for wins, _ in found) or ours.failed:
            head, group = 'ours does not win in both', lost
        elif rest:  # who is missing may still win
            head, group = 'not decided', lost
        else:
            head, group = 'ours wins', won
        group.append(f'- **{task.title}: {head}.** {text}{rest}')
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
    """What every training had, by task."""
    found: dict[tuple[str, str], list[str]] = {}
    for task in TASKS.values():
        own = [r for r in records if r['task'] == task.name]
        had = {r['part']: f'{r["budget"]:g}' for r in own if 'budget' in r}
        budgets = had.get('tune'), had.get('final')
        if any(budgets):
            found.setdefault(budgets, []).append(task.title)
    shown = '; '.join(
        f'{tune or "none"} and {final or "none yet"} ({", ".join(titles)})'
        for (tune, final), titles in found.items()
    )
    return (
        'Processor seconds of a training that chooses settings, and of one '
        f'that is tested: {shown or "nothing ran yet"}.'
    )


def diets_of(records: Sequence[dict], task: Task) -> dict[str, Row]:
    """Diets of D that ran on a task, with the runs of all seeds.

    Raises:
        UserError: They had different budgets.
    """
    check_budget(records, task, ('diet',))
    runs: dict[str, list[dict]] = {variant: [] for variant in DIETS}
    for record in records:
        if (record['task'], record['part']) == (task.name, 'diet'):
            setting = Setting.parse(record['setting'])
            if setting.rate == DIET_RATE and setting.variant in runs:
                runs[setting.variant].append(record)
    return {
        v: Row('recipe', tuple(found)) for v, found in runs.items() if found
    }


def diet_verdict(records: Sequence[dict]) -> str:
    """Whether a diet with a D above chance earns its keep, by task."""
    lines = []
    for task in TASKS.values():
        diets = diets_of(records, task)
        without = diets.get(NO_D)
        if without is None or len(diets) == 1:
            continue
        found = [
            sentence
            for variant, row in diets.items()
            if (sentence := gain_of(row, without, variant, task))
        ]
        text = ' '.join(found) or (
            'no way to train D with an accuracy above chance improves '
            'floods or '
            f'{COLUMNS[task.second].heading} by more than its spread over '
            'seeds without harming GED 16.'
        )
        lines.append(f'- *{task.title}*: {text}')
    return '\n'.join(lines) or 'Did not run yet.'


def gains(key: str, row: Row, other: Row) -> list[float]:
    """By how much a row is better than another, seed by seed.

    Both have the same F for a seed, which decides about most of a score.
    """
    before = {run['seed']: figures(run).get(key) for run in other.runs}
    return [
        better(key, figures(run)[key], before[run['seed']])
        for run in row.runs
        if before.get(run['seed']) is not None and key in figures(run)
    ]


def is_certain(found: Sequence[float]) -> bool:
    """Whether a gain is larger than its spread over seeds."""
    return len(found) > 1 and mean(found) > stdev(found)


def gain_of(row: Row, without: Row, variant: str, task: Task) -> str | None:
    """What a diet improves over no D, if it harms nothing."""
    accuracy = row.mean('d_acc')
    if not accuracy > CHANCE + ABOVE_CHANCE or row.failed:
        return None
    if is_certain([-gain for gain in gains('GED_16', row, without)]):
        return None
    improved = [
        f'{COLUMNS[key].heading} {row.cell(key)} against {without.cell(key)}'
        f' ({", ".join(map(COLUMNS[key].shown, found))} better by seed)'
        for key in ('flood_rate_16', task.second)
        if is_certain(found := gains(key, row, without))
    ]
    if not improved:
        return None
    ged = f'{row.cell("GED_16")} against {without.cell("GED_16")}'
    accuracy_shown = COLUMNS['d_acc'].shown(accuracy)
    return (
        f'*{variant}* improves {" and ".join(improved)} without D, at GED 16 '
        f'{ged} (accuracy of D {accuracy_shown} %).'
    )
