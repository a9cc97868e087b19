"""Where a model is torn: maps of entropy."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from .overlays import display_factor

HEIGHT = 3.0  # inches of a picture
MAX_ASPECT = 2.2
MIN_WIDTH = 1.6  # inches that a title needs


def picture_size(image: np.ndarray) -> tuple[float, float]:
    """Width and height in inches of an image (H, W, ...) in a figure."""
    aspect = image.shape[1] / image.shape[0]
    if aspect > MAX_ASPECT:  # wide pictures become lower, not wider
        return HEIGHT * MAX_ASPECT, HEIGHT * MAX_ASPECT / aspect
    return HEIGHT * aspect, HEIGHT


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
    axes[0].imshow(image, interpolation=interpolation(image))
    axes[0].set_title('image', fontsize=9)
    for one, (title, values) in zip(axes[1:], maps.items(), strict=True):
        drawn = one.imshow(values, cmap='magma', vmin=0, vmax=top)
        one.set_title(f'{title}\nmean {values.mean():.3f}', fontsize=9)
    for one in axes:
        one.axis('off')
    bar = figure.colorbar(drawn, ax=list(axes), fraction=0.04, pad=0.01)
    bar.set_label('entropy (nats)', fontsize=8)
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)
    return figure


def interpolation(image: np.ndarray) -> str:
    """How to show an image: small ones smoothly."""
    return 'bicubic' if display_factor(image.shape) > 1 else 'antialiased'
