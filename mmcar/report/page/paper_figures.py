"""The figures of a report for papers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..reliability import draw_reliability
from ..training_curves import Curves, draw_curves
from .page import perspective

BLUE, ORANGE, GREY = '#0072b2', '#e69f00', '0.65'


def draw_paper_figures(
    summary: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    num_samples: int,
    curves: Curves,
) -> dict[str, Figure]:
    """Draw what the page shows of all images together.

    Args:
        summary: From `DatasetScores.summary`.
        rows: Figures of each image.
        num_samples: Samples per image.
        curves: Training curves; none if empty.

    Returns:
        Figures by name.
    """
    bins = summary['reliability']['probabilities']
    figures = dict(
        reliability=draw_reliability(
            bins['confidence'],
            bins['accuracy'],
            bins['count'],
            title='Probabilities',
        ),
        classes=draw_classes(summary['classes']),
        histogram=draw_histogram([row['GED'] for row in rows], 'GED'),
    )
    tables = perspective(summary, num_samples)
    if tables:
        figures['bounds'] = draw_perspective(tables)
    if curves:
        figures['training'] = draw_curves(curves)
    return figures


def draw_classes(classes: Sequence[Mapping[str, Any]]) -> Figure:
    """Bars of how much more of each class is expected than labelled."""
    figure = Figure((4.6, 0.9 + 0.3 * len(classes)), layout='constrained')
    axes = figure.subplots()
    place = np.arange(len(classes))
    for shift, key, colour in (
        (-0.18, 'probabilities', BLUE),
        (0.18, 'samples', ORANGE),
    ):
        values = [100 * row[f'{key}_excess'] for row in classes]
        axes.barh(place + shift, values, 0.34, color=colour, label=key)
    axes.axvline(0, color='0.3', linewidth=0.8)
    axes.set_yticks(place, [row['name'] for row in classes])
    axes.invert_yaxis()
    axes.set_xlabel('expected beyond labelled area (%)')
    axes.legend(frameon=False, fontsize=8)
    return figure


def draw_histogram(values: Sequence[float], name: str) -> Figure:
    """How a score is spread over the images."""
    known = np.array([value for value in values if value == value])
    figure = Figure((3.6, 2.6), layout='constrained')
    axes = figure.subplots()
    axes.hist(known, bins=min(20, max(5, len(known) // 3)), color=BLUE)
    if len(known):
        axes.axvline(known.mean(), color=ORANGE, label='mean')
        axes.legend(frameon=False, fontsize=8)
    axes.set(xlabel=f'{name} of an image', ylabel='images')
    return figure


def draw_perspective(tables: Sequence[Mapping[str, Any]]) -> Figure:
    """The model among samplers that know the labels."""
    figure = Figure((4 * len(tables), 2.4), layout='constrained')
    grid = figure.subplots(1, len(tables), squeeze=False)[0]
    for axes, table in zip(grid, tables, strict=True):
        names = [row['name'] for row in table['rows']]
        values = [row['value'] for row in table['rows']]
        colours = [BLUE if name == 'this model' else GREY for name in names]
        bars = axes.barh(names, values, color=colours)
        axes.bar_label(bars, fmt='%.3f', padding=3, fontsize=8)
        axes.margins(x=0.25)
        axes.spines[['top', 'right']].set_visible(False)
        axes.invert_yaxis()
        axes.set_title(table['title'], fontsize=10)
        axes.tick_params(labelsize=8)
    return figure
