"""Training curves from the log that MMEngine writes."""

import json
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ..utils.errors import UserError

Curves = dict[str, tuple[np.ndarray, np.ndarray]]
# Columns of the log that say how, not what: the axis and the clock.
NO_CURVES = ('step', 'iter', 'epoch', 'time', 'data_time', 'memory')


def find_logs(work_dir: str | Path) -> list[Path]:
    """Find the scalar logs of a run, resumed parts included, in order."""
    return sorted(Path(work_dir).glob('*/vis_data/scalars.json'))


def read_curves(*paths: str | Path) -> Curves:
    """Read one or more ``vis_data/scalars.json`` files.

    Where two runs overlap (a resumed one repeats iterations), the later file
    wins. A line cut short by a kill is left out.

    Args:
        paths: Logs of one training, in the order they were written.

    Returns:
        Name -> (steps, values), steps ascending.
    """
    curves: dict[str, dict[int, float]] = {}
    for path in paths:
        for line in Path(path).read_text().splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue
            step = entry.get('step', entry.get('iter'))
            for name, value in entry.items():
                if name in NO_CURVES or not isinstance(value, int | float):
                    continue
                curves.setdefault(name, {})[step] = value
    return {
        name: tuple(np.array(sorted(points.items())).T)
        for name, points in curves.items()
    }


def changing(curves: Curves) -> Curves:
    """The curves that show anything: of more than one value."""
    return {
        name: (steps, values)
        for name, (steps, values) in curves.items()
        if len(set(values)) > 1
    }


def draw_curves(curves: Curves, columns: int = 3) -> Figure:
    """Draw each curve into a panel of its own.

    Args:
        curves: As `read_curves` gives them. Those with one point or one
            value throughout are left out: they show nothing.
        columns: Panels side by side.

    Returns:
        The figure.
    """
    curves = changing(curves)
    if not curves:
        raise UserError('No curves to draw: the log holds no changing value.')
    rows = -(-len(curves) // columns)
    figure = Figure((2.9 * columns, 2 * rows), layout='constrained')
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in list(grid.flat)[len(curves) :]:
        axes.axis('off')
    for axes, name in zip(grid.flat, sorted(curves), strict=False):
        steps, values = curves[name]
        few = len(steps) <= 20
        axes.plot(steps, values, '.-' if few else '-', linewidth=1)
        axes.set_title(name, fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3)
    return figure
