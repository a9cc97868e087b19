"""Many outlines at a glance: median, 50 % band, envelope, outliers."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from torch import Tensor

from ..evaluation import ContourBoxplot
from .uncertainty import interpolation, picture_size

BAND, ENVELOPE, MEDIAN, OUTLIER = '#0072b2', '#56b4e9', '#f0e442', '#d55e00'
MAX_ZOOM = 4


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
        axes.imshow(image, interpolation=interpolation(image))
        axes.axis('off')
    for mask in masks:
        outline(left, mask, ENVELOPE, 0.9)
    left.set_title(count_outlines(masks, name), fontsize=10)
    _fill(right, box.outer_core, box.outer_union, ENVELOPE, 0.35)
    _fill(right, box.inner_core, box.inner_union, BAND, 0.55)
    for index in box.outliers:
        outline(right, masks[index], OUTLIER, 1.2, '--')
    outline(right, masks[box.median], MEDIAN, 2.2)
    right.set_title('contour boxplot', fontsize=10)
    (top, bottom), (first, last) = zoom(masks.any(0))
    for axes in (left, right):
        axes.set(
            xlim=(first - 0.5, last - 0.5), ylim=(bottom - 0.5, top - 0.5)
        )
    figure.legend(
        handles=_handles(box, bool(masks[box.median].any())),
        loc='outside lower center',
        ncols=4,
        fontsize=8,
        frameon=False,
    )
    return figure


def count_outlines(masks: np.ndarray, name: str) -> str:
    """How many outlines there are, and how many samples have none.

    Args:
        masks: (S, H, W) bool.
        name: What is outlined.
    """
    empty = int((~masks.any((1, 2))).sum())
    number = len(masks) - empty
    outlines = f'{number} outline{"" if number == 1 else "s"}'
    none = f', none in {empty} samples' if empty else ''
    return f'{name}: {outlines}{none}'


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


def _handles(box: ContourBoxplot, has_median: bool) -> list:
    median = 'median' if has_median else 'median: nothing outlined'
    handles = [
        Line2D([], [], color=MEDIAN, linewidth=2.2, label=median),
        Patch(color=BAND, alpha=0.6, label='50 % band'),
        Patch(color=ENVELOPE, alpha=0.5, label='envelope'),
    ]
    if number := len(box.outliers):
        label = f'{number} outlier{"s" * (number > 1)}'
        handles.append(Line2D([], [], color=OUTLIER, ls='--', label=label))
    return handles
