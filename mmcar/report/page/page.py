"""The report as one HTML file, and its figures for papers.

The templates lie beside this module.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from matplotlib.figure import Figure

from ...version import __version__
from ..figures import Curves, changing, draw_curves, draw_reliability, spread

ASSETS = Path(__file__).parent / 'assets'
#: Points of a training curve that are kept.
MAX_POINTS = 240
BLUE, ORANGE, GREY = '#0072b2', '#e69f00', '0.65'


@dataclass
class Page:
    """What a report says.

    Attributes:
        title: Heading, the name of the model.
        facts: Short facts below it, name -> value.
        num_samples: Samples per image.
        classes: Names of the classes.
        palette: Their colours (K, 3) uint8.
        curves: Training curves; none if empty.
        summary: Figures of all images, from `DatasetScores.summary`.
        rows: Figures of each image.
        explored: Packed images, by their position in ``rows``.
        unreadable: Images that could not be read, name -> reason.
        promises: What held of them, if there are any.
    """

    title: str
    facts: Mapping[str, str]
    num_samples: int
    classes: Sequence[str]
    palette: np.ndarray
    curves: Curves = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    explored: dict[int, dict[str, Any]] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    promises: dict[str, Any] | None = None


def render_page(page: Page) -> str:
    """Write the page.

    Returns:
        HTML without a reference to anything outside of it.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= dict(signed=signed, score_title=score_title)
    columns, curves = table_columns(page.rows), thin_curves(page.curves)
    data = dict(
        samples=page.num_samples,
        classes=page.classes,
        palette=page.palette.tolist(),
        columns=columns,
        rows=page.rows,
        explored=sorted(page.explored),
        reliability=page.summary['reliability'],
        curves=curves,
    )
    return environment.get_template('page.html').render(
        page=page,
        version=__version__,
        columns=columns,
        curves=curves,
        perspective=perspective(page.summary, page.num_samples),
        class_limit=excess_limit(page.summary['classes']),
        size=file_size(sum(len(str(x)) for x in page.explored.values())),
        data=plain(data),
        images={i: plain(one) for i, one in page.explored.items()},
        asset=lambda name: (ASSETS / name).read_text(encoding='utf-8'),
    )


def table_columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Figures of the images to show, in their order."""
    hidden = {'image', 'bins'}
    if len({row['annotators'] for row in rows}) == 1:
        hidden.add('annotators')  # says nothing about an image
    return [name for name in rows[0] if name not in hidden]


def perspective(
    summary: Mapping[str, Any], num_samples: int
) -> list[dict[str, Any]]:
    """Model and samplers that know the labels side by side, best first."""
    tables = []
    samplers = {'this model': summary['scores'], **summary['bounds']}
    for name, smaller in (('GED', True), ('HM-IoU', False)):
        key = f'{name}_{num_samples}'
        rows = [
            dict(name=sampler, value=scores[key])
            for sampler, scores in samplers.items()
            if not math.isnan(scores.get(key, math.nan))
        ]
        if key in summary['scores'] and summary['bounds']:
            rows.sort(key=lambda row: row['value'], reverse=not smaller)
            top = max((row['value'] for row in rows), default=1) or 1
            title = score_title(key, num_samples)
            table = dict(title=title, rows=rows, top=top, smaller=smaller)
            tables.append(table)
    return tables


def score_title(key: str, num_samples: int) -> str:
    """A score's name as people read it."""
    title = key.replace(f'_{num_samples}', f' of {num_samples} samples')
    return title.replace('_samples', ' of samples').replace('_', ' ')


def excess_limit(classes: Sequence[Mapping[str, float]]) -> float:
    """End of the scale of the bars per class: large ones are cut off."""
    values = [
        abs(row[key])
        for row in classes
        for key in ('probabilities_excess', 'samples_excess')
        if row[key] == row[key]
    ]
    return min(1.0, max([0.05, *values]))


def thin_curves(curves: Curves) -> dict[str, list]:
    """Curves that change, with a bounded number of points."""
    thinned = {}
    for name, (steps, values) in sorted(changing(curves).items()):
        keep = spread(len(steps), MAX_POINTS)
        thinned[name] = [steps[keep].tolist(), values[keep].tolist()]
    return thinned


def signed(value: float, digits: int = 1) -> str:
    """A share in percent with its sign; a dash where there is none."""
    if value != value:
        return '–'  # noqa: RUF001
    text = f'{100 * value:+.{digits}f}'
    if float(text) == 0:
        text = text[1:]
    return f'{text} %'.replace('-', '−')  # noqa: RUF001


def plain(value: Any) -> Any:
    """What JSON can say: NaN and infinities become None, tuples lists."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def file_size(number: int) -> str:
    """A number of bytes as people read it."""
    if number < 1_000_000:
        return f'{number / 1e3:.0f} kB'
    return f'{number / 1e6:.1f} MB'


def draw_paper_figures(page: Page) -> dict[str, Figure]:
    """Draw what the page shows of all images together.

    Returns:
        Figures by name.
    """
    bins = page.summary['reliability']['probabilities']
    figures = dict(
        reliability=draw_reliability(
            bins['confidence'],
            bins['accuracy'],
            bins['count'],
            title='Probabilities',
        ),
        classes=draw_classes(page.summary['classes']),
        histogram=draw_histogram([row['GED'] for row in page.rows], 'GED'),
    )
    if tables := perspective(page.summary, page.num_samples):
        figures['bounds'] = draw_perspective(tables)
    if page.curves:
        figures['training'] = draw_curves(page.curves)
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
