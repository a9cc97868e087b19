"""Samples of a model beside the annotators' label maps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from ..structures.colours import UNLABELLED, extended
from ..utils.errors import UserError

CELL, TOP = 1.25, 0.28  # inches
MAX_LABELS = 4
IGNORED = 255
GREYS = (14, 15)  # of tab20; too close to unlabelled pixels


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


def default_palette(num_classes: int) -> np.ndarray:
    """Colours (K, 3) uint8: black and white, or distinct ones if K > 2."""
    if num_classes <= 2:
        return np.array([[0, 0, 0], [255, 255, 255]], np.uint8)
    ids = [i for i in range(20) if i not in GREYS]
    colours = (255 * colormaps['tab20'](ids)[:, :3]).astype(int)
    return extended(colours.tolist(), num_classes)


def dataset_palette(metainfo: Mapping | None, num_classes: int) -> np.ndarray:
    """Colours (K, 3) uint8 of a data set, or `default_palette`.

    Args:
        metainfo: Of the data set; its ``palette`` counts if it has a colour
            for each class.
        num_classes: Number of classes K that are drawn.
    """
    palette = (metainfo or {}).get('palette')
    if palette is None or len(palette) != num_classes:
        return default_palette(num_classes)
    return np.array(palette, np.uint8)


def colour_labels(label_map: np.ndarray, palette: np.ndarray) -> np.ndarray:
    """Turn class ids (H, W) into colours (H, W, 3) uint8; ignored is grey."""
    table = np.empty((max(256, len(palette)), 3), np.uint8)
    table[:] = UNLABELLED
    table[: len(palette)] = palette
    table[IGNORED] = UNLABELLED
    return table[label_map]


def colour_mean(probs: np.ndarray, palette: np.ndarray) -> np.ndarray:
    """Blend class colours by probabilities (K, H, W) -> (H, W, 3) uint8."""
    blend = np.tensordot(probs, palette[: len(probs)], axes=(0, 0))
    return blend.round().clip(0, 255).astype(np.uint8)


def normalised_entropy(probs: np.ndarray) -> np.ndarray:
    """Entropy of probabilities (K, H, W) -> (H, W), 1 for uniform ones."""
    logs = np.log(np.where(probs > 0, probs, 1))
    return -(probs * logs).sum(0) / np.log(max(len(probs), 2))


def draw_sample_grid(
    rows: Sequence[SampleRow],
    num_samples: int = 8,
    palette: np.ndarray | None = None,
) -> Figure:
    """Draw a row per image: image, annotators, mean, entropy, samples.

    Args:
        rows: The images.
        num_samples: Samples shown at most.
        palette: Class colours (K, 3) uint8; `default_palette` if None.

    Returns:
        The figure.
    """
    if not rows:
        raise UserError('Nothing to draw: rows is empty.')
    if palette is None:
        palette = default_palette(len(rows[0].probs))
    num_labels = min(
        MAX_LABELS, max(0 if r.labels is None else len(r.labels) for r in rows)
    )
    num_samples = min(num_samples, max(len(r.samples) for r in rows))
    heads = ['image']
    heads += [f'reader {i + 1}' for i in range(num_labels)]
    heads += ['mean', 'entropy']
    heads += [f'sample {i + 1}' for i in range(num_samples)]
    height, width = rows[0].image.shape[:2]
    size = (CELL * len(heads) * width / height, CELL * len(rows) + TOP)
    figure = Figure(size, layout=None)
    grid = figure.subplots(
        len(rows),
        len(heads),
        squeeze=False,
        gridspec_kw=dict(
            left=0.003,
            right=0.997,
            bottom=0.01,
            top=1 - TOP / size[1],
            wspace=0.04,
            hspace=0.04,
        ),
    )
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
