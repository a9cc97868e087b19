"""The report as one HTML file, from the templates beside this module."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from ...version import __version__
from ..sample_grid import spread
from ..training_curves import Curves, changing
from .encoding import file_size, plain

ASSETS = Path(__file__).parent / 'assets'
MAX_POINTS = 240
"""Points of a training curve that are kept."""


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
