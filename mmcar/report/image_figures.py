"""Figures of one image: its hypotheses, uncertainty and outlines."""

import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from torch import Tensor

from ..evaluation.functional import (
    ContourBoxplot,
    FlipState,
    Hypothesis,
    describe_changes,
)
from .pictures import display_factor, overlay_labels, pick_pixels

NOTE = 'Research software, not for clinical decisions.'
HEIGHT = 3.0  # inches of a picture
MAX_ASPECT = 2.2
MIN_WIDTH = 1.6  # inches that a title needs
MAX_SHOWN = 6  # hypotheses
LETTER = 0.062  # inches, of the small font
LEGEND_ENTRY = 1.05  # inches
BAND, ENVELOPE, MEDIAN, OUTLIER = '#0072b2', '#56b4e9', '#f0e442', '#d55e00'
MAX_ZOOM = 4
LEGEND: Any = dict(loc='outside lower center', fontsize=8, frameon=False)


def picture_size(image: np.ndarray) -> tuple[float, float]:
    """Width and height in inches of an image (H, W, ...) in a figure."""
    aspect = image.shape[1] / image.shape[0]
    if aspect > MAX_ASPECT:  # wide pictures become lower, not wider
        return HEIGHT * MAX_ASPECT, HEIGHT * MAX_ASPECT / aspect
    return HEIGHT * aspect, HEIGHT


def show_image(axes: Axes, image: np.ndarray) -> None:
    """Show an image without axes, small ones smoothly."""
    small = display_factor(image.shape) > 1
    axes.imshow(image, interpolation='bicubic' if small else 'antialiased')
    axes.axis('off')


def draw_uncertainty(
    image: np.ndarray, maps: Mapping[str, np.ndarray], num_classes: int
) -> Figure:
    """Draw an image beside maps of entropy, all on one scale.

    Args:
        image: RGB (H, W, 3) uint8.
        maps: Entropy in nats (H, W), by its title.
        num_classes: Number of classes K; ``log K`` is the end of the scale,
            or the largest value in powers of two below it, if that is less
            than half.
    """
    top = float(np.log(num_classes))
    largest = max(float(values.max()) for values in maps.values())
    while largest and top / 2 >= largest:
        top /= 2
    width, height = picture_size(image)
    # Compressed, narrow pictures would not leave their titles room.
    layout = 'compressed' if width >= MIN_WIDTH else 'constrained'
    width = max(width, MIN_WIDTH)
    columns = 1 + len(maps)
    figure = Figure(
        (columns * (width + 0.08) + 0.75, height + 0.52), layout=layout
    )
    axes = figure.subplots(1, columns)
    show_image(axes[0], image)
    axes[0].set_title('image', fontsize=9)
    for one, (title, values) in zip(axes[1:], maps.items(), strict=True):
        drawn = one.imshow(values, cmap='magma', vmin=0, vmax=top)
        one.set_title(f'{title}\nmean {values.mean():.3f}', fontsize=9)
        one.axis('off')
    bar = figure.colorbar(drawn, ax=list(axes), fraction=0.04, pad=0.01)
    bar.set_label('entropy (nats)', fontsize=8)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)
    return figure


def draw_hypotheses(
    image: np.ndarray,
    decision: np.ndarray,
    samples: np.ndarray,
    hypotheses: Sequence[Hypothesis],
    classes: Sequence[str],
    palette: np.ndarray,
    flip_states: Sequence[FlipState] = (),
) -> Figure:
    """Draw image, decision and the representative of each hypothesis.

    Args:
        image: RGB (H, W, 3) uint8.
        decision: Label map (H, W).
        samples: Label maps (S, H, W).
        hypotheses: Most probable first; `MAX_SHOWN` are drawn.
        classes: Names of the K classes.
        palette: Colours (K, 3) uint8.
        flip_states: Of switchable classes, written below.
    """
    shown = hypotheses[:MAX_SHOWN]
    maps = [decision, *(samples[h.representative] for h in shown)]
    pictures = [image, *(overlay_labels(image, m, palette) for m in maps)]
    titles = ['image', 'decision']
    titles += [
        f'{100 * h.probability:.0f} %  ({len(h.members)} of {len(samples)})'
        for h in shown
    ]
    width, height = picture_size(image)
    letters = int(width / LETTER)
    texts = ['', '', *(_caption(h, classes, letters) for h in shown)]
    notes = [
        f'{classes[s.source]} {100 * s.as_source:.0f} %, '
        f'{classes[s.twin]} {100 * s.as_twin:.0f} %'
        + (f', absent {100 * s.absent:.0f} %' if s.absent else '')
        for s in flip_states
        if s.absent < 1
    ]
    if more := hypotheses[MAX_SHOWN:]:
        share = 100 * sum(h.probability for h in more)
        notes.append(f'{len(more)} more, {share:.0f} % in all')
    rows = 1 if len(pictures) <= 4 else 2
    columns = -(-len(pictures) // rows)
    lines = 1 + max(text.count('\n') for text in texts)
    cell = height + 0.3 + 0.16 * lines
    size = (columns * (width + 0.12), rows * cell + 0.4 + 0.17 * len(notes))
    figure = Figure(size, layout='constrained')
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.axis('off')
    style = dict(fontsize=7.5, va='top', linespacing=1.25)
    cells = zip(grid.flat, pictures, titles, texts, strict=False)
    for axes, picture, title, text in cells:
        axes.imshow(picture, interpolation='antialiased')
        axes.set_title(title, fontsize=10, pad=4)
        axes.text(0, -0.03, text, transform=axes.transAxes, **style)
    used = np.unique(maps)
    if len(palette) == 2:
        used = used[used == 1]
    handles = [Patch(color=palette[k] / 255, label=classes[k]) for k in used]
    figure.legend(
        handles=handles,
        title='\n'.join(notes),
        title_fontsize=8,
        alignment='left',
        loc='outside lower left',
        ncols=max(1, min(len(used), int(size[0] / LEGEND_ENTRY))),
        fontsize=7.5,
        frameon=False,
        handlelength=1,
        handleheight=1,
    )
    return figure


def _caption(
    hypothesis: Hypothesis, classes: Sequence[str], letters: int
) -> str:
    parts = describe_changes(hypothesis.changes, classes).split('; ')
    wrap = partial(textwrap.wrap, width=letters, subsequent_indent='  ')
    return '\n'.join('\n'.join(wrap(part)) for part in parts)


def draw_contour_boxplot(
    image: np.ndarray, masks: np.ndarray, box: ContourBoxplot, name: str
) -> Figure:
    """Draw all outlines, and the boxplot of them.

    Args:
        image: RGB (H, W, 3) uint8.
        masks: (S, H, W) bool.
        box: Of the same masks.
        name: What is outlined.
    """
    width, height = (1.35 * side for side in picture_size(image))
    figure = Figure((2 * width + 0.1, height + 0.75), layout='constrained')
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        show_image(axes, image)
        look_at(axes, masks.any(0))
    for mask in masks:
        outline(left, mask, ENVELOPE, 0.9)
    number = int(masks.any((1, 2)).sum())
    title = f'{name}: {number} outline{"s" * (number != 1)}'
    if number < len(masks):
        title += f', none in {len(masks) - number} samples'
    left.set_title(title, fontsize=10)
    _fill(right, box.outer_core, box.outer_union, ENVELOPE, 0.35)
    _fill(right, box.inner_core, box.inner_union, BAND, 0.55)
    for index in box.outliers:
        outline(right, masks[index], OUTLIER, 1.2, '--')
    outline(right, masks[box.median], MEDIAN, 2.2)
    right.set_title('contour boxplot', fontsize=10)
    some = masks[box.median].any()
    median = 'median' if some else 'median: nothing outlined'
    handles = [
        Line2D([], [], color=MEDIAN, linewidth=2.2, label=median),
        Patch(color=BAND, alpha=0.6, label='50 % band'),
        Patch(color=ENVELOPE, alpha=0.5, label='envelope'),
    ]
    if number := len(box.outliers):
        label = f'{number} outlier{"s" * (number > 1)}'
        handles.append(Line2D([], [], color=OUTLIER, ls='--', label=label))
    figure.legend(handles=handles, ncols=4, **LEGEND)
    return figure


def draw_promises(
    image: np.ndarray, maps: np.ndarray, promises: Sequence[Any]
) -> Figure:
    """Draw regions and the hypotheses that are needed, class by class.

    Args:
        image: RGB (H, W, 3) uint8.
        maps: Label maps (M, H, W) of the hypotheses, most probable first.
        promises: `ImagePromise` of each class; that room is below this one.
    """
    width, height = (1.35 * side for side in picture_size(image))
    figure = Figure(
        (len(promises) * width + 0.1, height + 1.7), layout='constrained'
    )
    panels = figure.subplots(1, len(promises), squeeze=False)[0]
    for axes, promise in zip(panels, promises, strict=True):
        needed = maps[: promise.num_hypotheses or 0] == promise.class_id
        nothing = np.zeros(image.shape[:2], bool)
        regions = [
            pick_pixels(region, image.shape[:2])
            for region in (promise.region, promise.inner_region)
            if region is not None
        ]
        show_image(axes, image)
        look_at(axes, np.any([nothing, *regions, *needed], 0))
        for mask in needed:
            outline(axes, mask, BAND, 1.2)
        for region, colour in zip(regions, (OUTLIER, MEDIAN), strict=False):
            outline(axes, region, colour, 2.0)
        axes.set_title('\n'.join([promise.name, *promise.lines()]), fontsize=8)
    colours = {'outer': OUTLIER, 'inner': MEDIAN, 'hypotheses': BAND}
    handles = [
        Line2D([], [], color=colour, label=label)
        for label, colour in colours.items()
    ]
    figure.legend(
        handles=handles, title=NOTE, title_fontsize=8, ncols=3, **LEGEND
    )
    return figure


def look_at(axes: Axes, mask: np.ndarray) -> None:
    """Show the part of a picture that `zoom` chooses for a mask (H, W)."""
    (top, bottom), (first, last) = zoom(mask)
    axes.set(xlim=(first - 0.5, last - 0.5), ylim=(bottom - 0.5, top - 0.5))


def zoom(mask: np.ndarray) -> tuple[tuple[int, int], tuple[int, int]]:
    """Rows and columns to show of a mask (H, W): small objects up close.

    The part has the shape of the image, a whole fraction of its size, and
    leaves room around the object.
    """
    sides = mask.shape
    spans = [np.flatnonzero(mask.any(1 - axis)) for axis in (0, 1)]
    if not mask.any():
        return (0, sides[0]), (0, sides[1])
    share = max(
        1.5 * (span[-1] + 1 - span[0]) / side
        for span, side in zip(spans, sides, strict=True)
    )
    factor = min(max(1, int(1 / share)), MAX_ZOOM)
    window = []
    for span, side in zip(spans, sides, strict=True):
        length = side // factor
        start = (int(span[0]) + int(span[-1]) + 1 - length) // 2
        start = min(max(start, 0), side - length)
        window.append((start, start + length))
    return window[0], window[1]


def outline(
    axes: Axes, mask: np.ndarray, colour: str, width: float, dash: str = '-'
) -> None:
    """Draw the outline of a mask (H, W); nothing if there is none."""
    if mask.any():
        style = dict(colors=[colour], linewidths=width, linestyles=dash)
        axes.contour(*_closed(mask), [0.5], **style)


def _closed(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns, rows and values of a mask, with outlines at its border too."""
    rows, columns = (np.arange(-1, side + 1) for side in mask.shape)
    return columns, rows, np.pad(mask, 1).astype(float)


def _fill(
    axes: Axes, core: Tensor, union: Tensor, colour: str, alpha: float
) -> None:
    """Fill what a union of masks has beyond their core."""
    band = (union & ~core).cpu().numpy()
    if band.any():
        axes.contourf(*_closed(band), [0.5, 2], colors=[colour], alpha=alpha)
