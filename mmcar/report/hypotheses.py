"""The few stories that an image's samples tell, side by side."""

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..evaluation import FlipState, Hypothesis, describe_changes
from .overlays import overlay_labels
from .uncertainty import picture_size

MAX_SHOWN = 6
LETTER = 0.062  # inches, of the small font
LEGEND_ENTRY = 1.05  # inches


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
    notes = _notes(hypotheses, flip_states, classes)
    columns = len(pictures) if len(pictures) <= 4 else -(-len(pictures) // 2)
    rows = -(-len(pictures) // columns)
    lines = 1 + max(text.count('\n') for text in texts)
    cell = height + 0.3 + 0.16 * lines
    size = (columns * (width + 0.12), rows * cell + 0.4 + 0.17 * len(notes))
    figure = Figure(size, layout='constrained')
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.axis('off')
    cells = zip(grid.flat, pictures, titles, texts, strict=False)
    for axes, picture, title, text in cells:
        axes.imshow(picture, interpolation='antialiased')
        axes.set_title(title, fontsize=10, pad=4)
        style = dict(fontsize=7.5, va='top', linespacing=1.25)
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
    lines = [
        line
        for part in parts
        for line in textwrap.wrap(part, letters, subsequent_indent='  ')
    ]
    return '\n'.join(lines)


def _notes(
    hypotheses: Sequence[Hypothesis],
    flip_states: Sequence[FlipState],
    classes: Sequence[str],
) -> list[str]:
    """What is said below the pictures, line by line."""
    notes = [
        f'{classes[s.source]} {100 * s.as_source:.0f} %, '
        f'{classes[s.twin]} {100 * s.as_twin:.0f} %'
        + (f', absent {100 * s.absent:.0f} %' if s.absent else '')
        for s in flip_states
        if s.absent < 1
    ]
    more = hypotheses[MAX_SHOWN:]
    if more:
        share = sum(h.probability for h in more)
        notes.append(f'{len(more)} more, {100 * share:.0f} % in all')
    return notes
