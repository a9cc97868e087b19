"""Grids of pictures, and bars: the paper's figures."""

from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from mmcar.report.pictures import colour_labels, colour_mean
from mmcar.structures.colours import UNLABELLED

from .views import View

CELL = 1.5  # inches
MARGIN = 0.32
MAGMA = colormaps['magma'].with_extremes(bad=np.array(UNLABELLED) / 255)
Panel = tuple[str, np.ndarray]


def entropy(probs: np.ndarray) -> np.ndarray:
    """Entropy in nats of probabilities (K, H, W) -> (H, W)."""
    logs = np.log(np.where(probs > 0, probs, 1))
    return -(probs * logs).sum(0)


def draw_grid(rows: Sequence[Sequence[Panel]], top: float = 1) -> Figure:
    """Draw rows of pictures with titles above the first row.

    Args:
        rows: Title and picture: RGB (H, W, 3), or values (H, W) in a scale
            of brightness from 0 to ``top``.
        top: The brightest value.
    """
    height, width = rows[0][0][1].shape[:2]
    cell = (CELL * max(width / height, 1), CELL * max(height / width, 1))
    values = [p for row in rows for _, p in row if p.ndim == 2]
    bar = 0.7 if values else 0.0
    size = (
        cell[0] * len(rows[0]) + bar,
        cell[1] * len(rows) + MARGIN,
    )
    figure = Figure(size)
    grid = figure.subplots(
        len(rows),
        len(rows[0]),
        squeeze=False,
        gridspec_kw=dict(
            left=0.004,
            right=1 - bar / size[0] - 0.004,
            bottom=0.006,
            top=1 - MARGIN / size[1],
            wspace=0.03,
            hspace=0.03,
        ),
    )
    for axes, (title, _) in zip(grid[0], rows[0], strict=True):
        axes.set_title(title, fontsize=9, pad=3)
    for line, row in zip(grid, rows, strict=True):
        for axes, (_, picture) in zip(line, row, strict=True):
            axes.axis('off')
            if picture.ndim == 2:
                drawn = axes.imshow(picture, cmap=MAGMA, vmin=0, vmax=top)
            else:
                axes.imshow(picture)
    if values:
        place = figure.add_axes((1 - 0.62 / size[0], 0.1, 0.1 / size[0], 0.75))
        scale = figure.colorbar(drawn, cax=place)
        scale.set_label('entropy (nats)', fontsize=8)
        scale.ax.tick_params(labelsize=7)
        scale.outline.set_visible(False)
    return figure


def add_legend(
    figure: Figure,
    views: Sequence[View],
    palette: np.ndarray,
    classes: Sequence[str],
) -> Figure:
    """Name the colours of classes that are seen, below the grid."""
    if len(palette) <= 2:
        return figure
    shares = sum((v.calibrated + v.mean).mean((1, 2)) for v in views)
    handles = [
        Patch(color=colour / 255, label=name)
        for colour, name, share in zip(palette, classes, shares, strict=True)
        if share > 0.002 * len(views)
    ]
    width, height = figure.get_size_inches()
    columns = max(int(width / 1.15), 1)
    room = 0.19 * -(-len(handles) // columns) + 0.08
    figure.set_size_inches(width, height + room)
    for axes in figure.axes:
        box = axes.get_position(original=True)
        share = height / (height + room)
        axes.set_position(
            (box.x0, 1 - (1 - box.y0) * share, box.width, box.height * share)
        )
    figure.legend(
        handles=handles,
        loc='lower center',
        ncols=min(columns, len(handles)),
        fontsize=7.5,
        frameon=False,
        handlelength=1,
        handleheight=1,
        columnspacing=1,
        borderaxespad=0.1,
    )
    return figure


def _truth(view: View, palette: np.ndarray) -> np.ndarray:
    """The annotators' mean in colours; grey where nobody labelled."""
    if view.truth is None:
        return np.full_like(view.image, 255)
    picture = colour_mean(view.truth, palette)
    picture[~view.known] = UNLABELLED
    return picture


def sample_panels(
    view: View, palette: np.ndarray, number: int, truth: str
) -> list[Panel]:
    """Image, F, mean of samples and of labels, and samples."""
    panels = [
        ('image', view.image),
        ('F', colour_mean(view.calibrated, palette)),
        ('mean of samples', colour_mean(view.mean, palette)),
        (truth, _truth(view, palette)),
    ]
    return panels + [
        (f'sample {i + 1}', colour_labels(label_map, palette))
        for i, label_map in enumerate(view.label_maps[:number])
    ]


def entropy_panels(view: View, number: int) -> list[Panel]:
    """Image, and entropy of F, of the mean of samples and of samples.

    It is NaN, and drawn grey, where nobody labelled the pixel.
    """
    maps = {'F': view.calibrated, 'mean of samples': view.mean}
    maps |= {
        f'sample {i + 1} alone': sample
        for i, sample in enumerate(view.samples[:number])
    }
    return [('image', view.image)] + [
        (title, np.where(view.known, entropy(probs), np.nan))
        for title, probs in maps.items()
    ]


def independent_panels(
    view: View, palette: np.ndarray, number: int
) -> list[Panel]:
    """Image, F, pixels of F drawn one by one, and samples."""
    panels = [
        ('image', view.image),
        ('F', colour_mean(view.calibrated, palette)),
    ]
    draws = view.independent(number)
    panels += [
        (f'pixels alone {i + 1}', colour_labels(label_map, palette))
        for i, label_map in enumerate(draws)
    ]
    return panels + [
        (f'sample {i + 1}', colour_labels(label_map, palette))
        for i, label_map in enumerate(view.label_maps[:number])
    ]


def draw_offsets(
    classes: Sequence[str], true: Sequence[float], said: dict[str, Sequence]
) -> Figure:
    """Bars of predicted minus true probability, in points.

    Args:
        classes: Names of the added classes.
        true: Their true probabilities.
        said: Predicted ones by who predicts; NaN for a class without pixels.
    """
    figure = Figure((1.3 * len(classes) + 1.2, 2.8), layout='constrained')
    axes = figure.subplots()
    places, width = np.arange(len(classes)), 0.8 / len(said)
    for i, (name, values) in enumerate(said.items()):
        offsets = 100 * (np.array(values, float) - np.array(true, float))
        mean = np.nanmean(np.abs(offsets))
        bars = axes.bar(
            places + (i - (len(said) - 1) / 2) * width,
            np.nan_to_num(offsets),
            0.92 * width,
            label=f'{name}, mean size {mean:.1f}',
        )
        rounded = np.round(offsets, 1) + 0.0  # no -0.0
        texts = [f'{v:+.1f}' if np.isfinite(v) else '-' for v in rounded]
        axes.bar_label(bars, texts, fontsize=7, padding=2)
    axes.axhline(0, color='0.3', linewidth=0.8)
    axes.margins(y=0.18)
    names = [f'{c}\n{p:.3f}' for c, p in zip(classes, true, strict=True)]
    axes.set_xticks(places, names, fontsize=8)
    axes.set_ylabel('predicted - true, points', fontsize=8)
    axes.tick_params(axis='y', labelsize=7)
    axes.spines[['top', 'right']].set_visible(False)
    axes.legend(fontsize=7.5, frameon=False)
    return figure
