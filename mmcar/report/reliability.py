"""Reliability diagram: how often the model is right when it is sure."""

import numpy as np
from matplotlib.figure import Figure

from ..utils.errors import UserError


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
        raise UserError('Every bin is empty: there is nothing to draw.')
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
