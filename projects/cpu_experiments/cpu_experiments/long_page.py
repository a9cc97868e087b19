"""Curve and table of long trainings, from their record."""

from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .long_runs import GED, HM_IOU, LINES, LONG_RUNS
from .suite import CAMVID, LIDC
from .tables import markdown

TITLES = {LIDC: 'LIDC shapes, control', CAMVID: 'CamVid flips, control'}
# Iterations that the table shows, as far as a run has come.
MILESTONES = (250, 500, 1000, 2000, 4000, 8000, 16000, 30000)


def draw(records: dict) -> Figure:
    """GED 16 against iterations and against processor time."""
    groups = [g for g in TITLES if any(k.startswith(g) for k in records)]
    figure = Figure((9, 3 * len(groups)), layout='constrained')
    grid = figure.subplots(len(groups), 2, sharey='row', squeeze=False)
    for group, (left, right) in zip(groups, grid, strict=True):
        for axes, key in ((left, 'iterations'), (right, 'minutes')):
            _draw_group(axes, records, group, key)
        left.set_ylabel(f'{TITLES[group]}\nGED 16')
        left.legend(fontsize=8)
    grid[-1][0].set_xlabel('iterations')
    grid[-1][1].set_xlabel('minutes of processor time')
    return figure


def _draw_group(axes: Axes, records: dict, group: str, key: str) -> None:
    for run in LONG_RUNS:
        if run.group == group and run.key in records:
            curve = records[run.key]
            axes.plot(curve[key], curve[GED], '.-', label=run.label)
    for row in LINES:
        name = f'{row.group}/{row.name}'
        if row.group == group and name in records:
            line = dict(color='black', linestyle='--', linewidth=1)
            axes.axhline(records[name][GED], label=row.label, **line)
    axes.set_xscale('log')
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)


def table(records: dict, group: str) -> str:
    """Scores of a group's runs at milestones, and at their last point."""
    runs = [r for r in LONG_RUNS if r.group == group and r.key in records]
    reached = max((records[r.key]['iterations'][-1] for r in runs), default=0)
    columns = [m for m in MILESTONES if m <= reached]
    head = ['', *(f'{m}' for m in columns), 'last', 'iterations', 'minutes']
    rows = [head]
    for run in runs:
        curve = records[run.key]
        places = [
            curve['iterations'].index(m) if m in curve['iterations'] else None
            for m in columns
        ]
        cells = [_cell(curve, place) for place in [*places, -1]]
        costs = [f'{curve["iterations"][-1]}', f'{curve["minutes"][-1]:.0f}']
        rows.append([f'{run.label} (`{run.name}`)', *cells, *costs])
    for row in LINES:
        name = f'{row.group}/{row.name}'
        if row.group == group and name in records:
            empty = [''] * len(columns)
            scores = _scores(records[name], lambda value: value)
            rows.append([row.title, *empty, scores, '0', '0'])
    return markdown(rows)


def _cell(curve: dict, place: int | None) -> str:
    return '' if place is None else _scores(curve, lambda v: v[place])


def _scores(record: dict, pick: Callable) -> str:
    values = [pick(record[k]) for k in (GED, HM_IOU) if k in record]
    return ' / '.join(f'{value:.3f}'.lstrip('0') for value in values)
