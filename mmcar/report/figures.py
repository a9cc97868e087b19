"""Figures of a data set: samples by image, reliability, training curves."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ..utils.errors import UserError
from .pictures import colour_labels, colour_mean

CELL, TOP = 1.25, 0.28  # inches
MARGINS = dict(left=0.003, right=0.997, bottom=0.01, wspace=0.04, hspace=0.04)
MAX_LABELS = 4
# Columns of a log that say how, not what: the axis and the clock.
NO_CURVES = ('step', 'iter', 'epoch', 'time', 'data_time', 'memory')
#: Of numbers in a log, by name: steps, ascending, and values.
Curves = dict[str, tuple[np.ndarray, np.ndarray]]


@dataclass
class SampleRow:
    """What is drawn of one image.

    Attributes:
        image: RGB (H, W, 3) uint8.
        samples: Label maps (S, H, W).
        probs: Mean of the samples' probabilities, or F's, (K, H, W).
        labels: Annotators' label maps (A, H, W); None where unknown.
    """

    image: np.ndarray
    samples: np.ndarray
    probs: np.ndarray
    labels: np.ndarray | None = None


def spread(total: int, number: int) -> list[int]:
    """Positions spread evenly over a list, from its first to its last."""
    places = np.linspace(0, max(total - 1, 0), min(number, total))
    return places.round().astype(int).tolist()


def normalised_entropy(probs: np.ndarray) -> np.ndarray:
    """Entropy of probabilities (K, H, W) -> (H, W), 1 for uniform ones."""
    logs = np.log(np.where(probs > 0, probs, 1))
    return -(probs * logs).sum(0) / np.log(max(len(probs), 2))


def draw_sample_grid(
    rows: Sequence[SampleRow], palette: np.ndarray, num_samples: int = 8
) -> Figure:
    """Draw a row per image: image, annotators, mean, entropy, samples.

    Args:
        rows: The images.
        palette: Class colours (K, 3) uint8.
        num_samples: Samples shown at most.

    Returns:
        The figure.
    """
    if not rows:
        raise UserError('Nothing to plot: rows is empty.')

    num_labels = min(
        MAX_LABELS, max(0 if r.labels is None else len(r.labels) for r in rows)
    )
    num_samples = min(num_samples, max(len(r.samples) for r in rows))
    heads = ['image']
    heads += [f'annotator {i + 1}' for i in range(num_labels)]
    heads += ['mean', 'entropy']
    heads += [f'sample {i + 1}' for i in range(num_samples)]
    height, width = rows[0].image.shape[:2]
    size = (CELL * len(heads) * width / height, CELL * len(rows) + TOP)
    figure = Figure(size, layout=None)
    grid = figure.subplots(len(rows), len(heads), squeeze=False)
    figure.subplots_adjust(top=1 - TOP / size[1], **MARGINS)
    for axes, head in zip(grid[0], heads, strict=True):
        axes.set_title(head, fontsize=8, pad=3)
    for axes in grid.flat:
        axes.axis('off')
    for row, line in zip(rows, grid, strict=True):
        labels = () if row.labels is None else row.labels[:num_labels]
        line[0].imshow(row.image)
        for axes, label in zip(line[1:], labels, strict=False):
            axes.imshow(colour_labels(label, palette))
        line = line[1 + num_labels :]
        line[0].imshow(colour_mean(row.probs, palette))
        entropy = normalised_entropy(row.probs)
        line[1].imshow(entropy, cmap='magma', vmin=0, vmax=1)
        for axes, sample in zip(line[2:], row.samples, strict=False):
            axes.imshow(colour_labels(sample, palette))
    return figure


def draw_reliability(
    confidence: np.ndarray,
    accuracy: np.ndarray,
    count: np.ndarray,
    title: str = 'Reliability',
) -> Figure:
    """Draw accuracy against confidence, and where the pixels are.

    Args:
        confidence: Mean confidence per bin (N,).
        accuracy: Share of correct pixels per bin (N,).
        count: Pixels per bin (N,); empty bins are left out.
        title: Heading; the expected calibration error is added to it.

    Returns:
        The figure.
    """
    confidence, accuracy, count = (
        np.asarray(values, float) for values in (confidence, accuracy, count)
    )
    filled = count > 0
    if not filled.any():
        raise UserError('Every bin is empty: there is nothing to plot.')
    confidence, accuracy = confidence[filled], accuracy[filled]
    share = count[filled] / count.sum()
    ece = float((share * abs(confidence - accuracy)).sum())
    figure = Figure((3.6, 4.2), layout='constrained')
    upper, lower = figure.subplots(
        2, 1, sharex=True, gridspec_kw=dict(height_ratios=(4, 1))
    )
    upper.plot([0, 1], [0, 1], '--', color='0.6', label='perfect')
    upper.plot(confidence, accuracy, 'o-', color='C0', label='model')
    upper.vlines(confidence, confidence, accuracy, color='C3', alpha=0.5)
    upper.set(xlim=(0, 1), ylim=(0, 1), ylabel='accuracy')
    upper.set_title(f'{title}: ECE {100 * ece:.2f} %', fontsize=10)
    upper.legend(frameon=False, loc='upper left')
    lower.bar(confidence, share, width=0.05, color='C0')
    least = min(10 ** np.floor(np.log10(share.min())), 0.1)
    lower.set(xlabel='confidence', ylabel='share', yscale='log')
    lower.set(ylim=(least, 1), yticks=sorted({least, 1}))
    lower.minorticks_off()
    return figure


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


def draw_curves(curves: Curves) -> Figure:
    """Draw each curve into a panel of its own, three side by side.

    Args:
        curves: As `read_curves` gives them. Those with one point or one
            value throughout are left out: they show nothing.

    Returns:
        The figure.
    """
    curves = changing(curves)
    if not curves:
        raise UserError('No curves to plot: the log holds no changing value.')
    rows = -(-len(curves) // 3)
    figure = Figure((8.7, 2 * rows), layout='constrained')
    grid = figure.subplots(rows, 3, squeeze=False)
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
