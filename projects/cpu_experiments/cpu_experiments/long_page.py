"""Curve and table of long trainings, from their record."""

from collections.abc import Callable
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .long_runs import (
    GED,
    HM_IOU,
    LINES,
    LONG_RUNS,
    PERFECT,
    LongRun,
    bound_key,
)
from .suite import CAMVID, LIDC
from .tables import markdown

TITLES = {LIDC: 'LIDC shapes, control', CAMVID: 'CamVid flips, control'}
# Iterations that the table shows, as far as a run has come.
MILESTONES = (250, 500, 1000, 2000, 4000, 8000, 16000, 30000)
LINE_STYLES = ('--', ':')


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
    labels = list(dict.fromkeys(run.label for run in LONG_RUNS))
    for run in LONG_RUNS:
        if run.group == group and run.key in records:
            curve = records[run.key]
            axes.plot(
                curve[key],
                curve[GED],
                '.-',
                label=run.label,
                color=f'C{labels.index(run.label)}',
            )
    lines = _lines(records, group).items()
    for style, (label, record) in zip(LINE_STYLES, lines, strict=False):
        line = dict(color='black', linestyle=style, linewidth=1)
        axes.axhline(record[GED], label=label, **line)
    axes.set_xscale('log')
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)


def _lines(records: dict, group: str) -> dict[str, dict]:
    """What needs no training: label -> scores."""
    lines = {row.label: f'{group}/{row.name}' for row in LINES}
    lines[PERFECT] = bound_key(group)
    return {k: records[name] for k, name in lines.items() if name in records}


def table(records: dict, group: str) -> str:
    """Scores of a group's runs at milestones, and at their last point.

    Whether a curve is flat is told by its last two quarters.
    """
    runs = [r for r in LONG_RUNS if r.group == group and r.key in records]
    reached = max((records[r.key]['iterations'][-1] for r in runs), default=0)
    columns = [m for m in MILESTONES if m <= reached]
    head = ['', *(f'{m}' for m in columns), 'last']
    head += ['GED 16, third quarter', 'last quarter', 'iterations', 'minutes']
    rows = [head, *(_row(run, records[run.key], columns) for run in runs)]
    for label, record in _lines(records, group).items():
        scores = _scores(record, lambda value: value)
        empty = [''] * len(columns)
        rows.append([label, *empty, scores, '', '', '0', '0'])
    return markdown(rows)


def _row(run: LongRun, curve: dict, columns: list[int]) -> list[str]:
    places = [
        curve['iterations'].index(m) if m in curve['iterations'] else None
        for m in columns
    ]
    cells = [_cell(curve, place) for place in [*places, -1]]
    quarter = len(curve[GED]) // 4
    if quarter:
        later = curve[GED][-2 * quarter : -quarter], curve[GED][-quarter:]
        cells += [f'{fmean(part):.3f}'.lstrip('0') for part in later]
    else:
        cells += ['', '']
    costs = [f'{curve["iterations"][-1]}', f'{curve["minutes"][-1]:.0f}']
    return [f'{run.label} (`{run.name}`)', *cells, *costs]


def _cell(curve: dict, place: int | None) -> str:
    return '' if place is None else _scores(curve, lambda v: v[place])


def _scores(record: dict, pick: Callable) -> str:
    values = [pick(record[k]) for k in (GED, HM_IOU) if k in record]
    return ' / '.join(f'{value:.3f}'.lstrip('0') for value in values)
