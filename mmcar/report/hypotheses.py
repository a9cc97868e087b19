"""The few stories that an image's samples tell, side by side."""

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..evaluation import FlipState, Hypothesis, describe_changes
from .overlays import overlay_labels
from .uncertainty import picture_size

MAX_SHOWN = 6
LETTER = 0.062  # inches, of the small font
LEGEND_ENTRY = (1.05, 0.19)  # inches


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
    width, height = picture_size(image)
    number = 2 + len(shown)
    columns = number if number <= 4 else -(-number // 2)
    rows = -(-number // columns)
    texts = [_caption(h, classes, int(width / LETTER)) for h in shown]
    lines = max(text.count('\n') + 1 for text in texts)
    notes = _notes(hypotheses, flip_states, classes)
    used = np.unique([decision, *(samples[h.representative] for h in shown)])
    per_line = max(1, int(columns * width / LEGEND_ENTRY[0]))
    legend = LEGEND_ENTRY[1] * -(-len(used) // per_line)
    bottom = 0.15 + legend + 0.17 * len(notes)
    cell = height + 0.3 + 0.16 * lines
    size = (columns * (width + 0.12), rows * cell + bottom)
    figure = Figure(size)
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    maps = [decision, *(samples[h.representative] for h in shown)]
    pictures = [image, *(overlay_labels(image, m, palette) for m in maps)]
    titles = ['image', 'decision']
    titles += [
        f'{100 * h.probability:.0f} %  ({len(h.members)} of {len(samples)})'
        for h in shown
    ]
    for axes in grid:
        axes.axis('off')
    captions = ['', '', *texts]
    cells = zip(grid, pictures, titles, captions, strict=False)
    for axes, *content in cells:
        _draw_cell(axes, *content)
    _place_grid(figure, cell, lines, bottom, rows)
    _add_legend(figure, used, classes, palette, per_line)
    for k, note in enumerate(notes):
        y = (0.1 + legend + 0.17 * (len(notes) - k)) / size[1]
        figure.text(0.01, y, note, fontsize=8, va='top')
    return figure


def _draw_cell(axes: Axes, picture: np.ndarray, title: str, text: str) -> None:
    axes.imshow(picture, interpolation='antialiased')
    axes.set_title(title, fontsize=10, pad=4)
    style = dict(fontsize=7.5, va='top', linespacing=1.25)
    axes.text(0, -0.03, text, transform=axes.transAxes, **style)


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


def _place_grid(
    figure: Figure, cell: float, lines: int, bottom: float, rows: int
) -> None:
    """Leave room for titles above and words below each picture."""
    total = figure.get_figheight()
    words = 0.12 + 0.16 * lines
    picture = cell - 0.18 - words
    figure.subplots_adjust(
        left=0.01,
        right=0.99,
        top=1 - 0.24 / total,
        bottom=(bottom + words - 0.06) / total,
        wspace=0.04,
        hspace=(cell - picture) / picture if rows > 1 else 0,
    )


def _add_legend(
    figure: Figure,
    used: np.ndarray,
    classes: Sequence[str],
    palette: np.ndarray,
    per_line: int,
) -> None:
    """Name the colours of the classes that are seen."""
    if len(palette) == 2:
        used = used[used == 1]
    handles = [
        Patch(color=palette[c] / 255, label=classes[c]) for c in used.tolist()
    ]
    if handles:
        figure.legend(
            handles=handles,
            loc='lower left',
            ncols=min(len(handles), per_line),
            fontsize=7.5,
            frameon=False,
            handlelength=1,
            handleheight=1,
            borderaxespad=0.2,
            bbox_to_anchor=(0.003, 0),
        )
