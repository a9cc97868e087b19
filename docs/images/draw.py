"""Pictures of the docs, from what `make demo` leaves in work_dirs/demo.

python docs/images/draw.py [DEMO_DIR]
"""

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from PIL import Image
from scipy.optimize import linear_sum_assignment

from mmcar.evaluation.functional import ged_terms, pairwise_iou
from mmcar.sampling import sample_labels

mpl.use('Agg')
HERE = Path(__file__).parent
DEMO = HERE.parents[1] / 'demo'
ORANGE, BLUE, GREY = '#e69f00', '#1f5f8b', '#555555'
NAME = '00037_halo'


def read(path: Path) -> np.ndarray:
    """Read a picture or label map as it is stored."""
    return np.array(Image.open(path))


def annotators(name: str = NAME) -> list[np.ndarray]:
    """Label maps of the four annotators of an image of the demo."""
    folder = DEMO / 'annotations/test' / name
    return [read(folder / f'r{k}.png') for k in range(4)]


def show(
    axes: Axes,
    image: np.ndarray,
    mask: np.ndarray | None = None,
    title: str = '',
) -> None:
    """Show an image, and a mask over it."""
    axes.imshow(image, cmap='gray', vmin=0, vmax=255)
    if mask is not None:
        cover = np.zeros((*mask.shape, 4))
        cover[mask > 0] = (*mpl.colors.to_rgb(ORANGE), 0.45)
        axes.imshow(cover)
        if 0 < mask.mean() < 1:
            axes.contour(mask, [0.5], colors=ORANGE, linewidths=1)
    axes.set_title(title, fontsize=9, color='black')
    axes.set_xticks([])
    axes.set_yticks([])


def save(figure: Figure, name: str) -> None:
    """Write a picture beside this file."""
    path = HERE / name
    figure.savefig(path, dpi=110, bbox_inches='tight', facecolor='white')
    plt.close(figure)
    Image.open(path).convert('RGB').save(path, optimize=True)


def front(image: np.ndarray, samples: Sequence[np.ndarray]) -> None:
    """One image, four annotators, sixteen samples."""
    figure = plt.figure(figsize=(11, 1.95))
    grid = figure.add_gridspec(1, 3, width_ratios=[1, 1, 4], wspace=0.06)
    show(figure.add_subplot(grid[0]), image, title='image')
    parts = grid[1].subgridspec(2, 2, hspace=0.05, wspace=0.05)
    for k, mask in enumerate(annotators()):
        show(figure.add_subplot(parts[k // 2, k % 2]), image, mask)
    parts = grid[2].subgridspec(2, 8, hspace=0.05, wspace=0.05)
    for k, mask in enumerate(samples):
        show(figure.add_subplot(parts[k // 8, k % 8]), image, mask)
    for x, text in ((0.33, 'four annotators'), (0.66, '16 samples')):
        figure.text(x, 0.91, text, fontsize=9, ha='center')
    save(figure, 'front.png')


def of_annotators() -> None:
    """The three images of the demo with their annotators."""
    names = ('00119_clear', NAME, '00219_faint')
    figure, axes = plt.subplots(3, 6, figsize=(8.4, 4.4))
    for row, name in zip(axes, names, strict=True):
        image = read(DEMO / f'images/test/{name}.png')
        masks = annotators(name)
        show(row[0], image, title='image' if name == names[0] else '')
        for k, mask in enumerate(masks, 1):
            title = f'annotator {k}' if name == names[0] else ''
            show(row[k], image, mask, title)
        mean = np.mean(masks, 0) * 255
        show(row[5], mean, title='mean' if name == names[0] else '')
    figure.subplots_adjust(wspace=0.05, hspace=0.05)
    save(figure, 'annotators.png')


def noise(image: np.ndarray) -> None:
    """The same probabilities, sampled pixel by pixel and together."""
    probs = np.clip(np.mean(annotators(), 0), 0.02, 0.98)
    logs = np.log(np.stack([1 - probs, probs]))[None]
    rng = np.random.default_rng(0)
    alone = [rng.random(probs.shape) < probs for _ in range(4)]
    (together,) = sample_labels(logs, num_samples=4, seed=2, floor=0.05)
    figure, axes = plt.subplots(2, 5, figsize=(7.2, 3.2))
    rows = ((alone, 'each pixel on its own'), (together, 'pixels together'))
    for row, (masks, title) in zip(axes, rows, strict=True):
        show(row[0], probs * 255, title='probability of nodule')
        for k, mask in enumerate(masks):
            show(row[k + 1], image, np.asarray(mask) * 1)
        row[2].set_title(title, fontsize=9, loc='left')
    figure.subplots_adjust(wspace=0.05, hspace=0.25)
    save(figure, 'noise.png')


def box(axes: Axes, x: float, text: str, colour: str) -> None:
    """A named network."""
    size = dict(boxstyle='round,pad=0.02,rounding_size=0.08')
    patch = FancyBboxPatch((x, 0.36), 0.9, 0.5, **size, fc=colour, ec='none')
    axes.add_patch(patch)
    style = dict(ha='center', va='center', color='white', fontsize=8)
    axes.text(x + 0.45, 0.61, text, **style)


def chain() -> None:
    """B -> F -> G -> D: what goes in, and what comes out."""
    figure, axes = plt.subplots(figsize=(10, 2.3))
    axes.set(xlim=(-0.95, 7.2), ylim=(-0.62, 1.3))
    axes.axis('off')
    networks = (
        (0.3, 'B\nblack box', GREY, 'your model,\nfrozen; optional'),
        (2.1, 'F\ncalibration net', BLUE, 'learns how often\na class is true'),
        (3.9, 'G\ngenerator', ORANGE, 'draws one whole\nlabel map per noise'),
        (5.7, 'D\ndiscriminator', GREY, 'real or drawn?\nonly in training'),
    )
    for x, text, colour, below in networks:
        box(axes, x, text, colour)
        axes.text(x + 0.45, 0.08, below, fontsize=8, ha='center', va='center')
    arrow = dict(arrowstyle='-|>', color='black', lw=1.2)
    flows = ('image', 'probabilities', 'calibrated\nprobabilities', 'samples')
    for (x, *_), text in zip(networks, flows, strict=True):
        first = x == networks[0][0]
        start = x - 0.4 if first else x - 0.88
        axes.annotate('', (x - 0.02, 0.61), (start, 0.61), arrowprops=arrow)
        place = (x - 0.22 if first else x - 0.45, 0.78)
        axes.text(*place, text, fontsize=7.5, ha='center', va='bottom')
    axes.annotate('', (4.35, 0.9), (4.35, 1.2), arrowprops=arrow)
    axes.text(4.42, 1.08, 'noise', fontsize=8, va='center')
    axes.annotate('', (6.15, -0.12), (6.15, -0.42), arrowprops=arrow)
    axes.text(6.24, -0.36, 'label maps of annotators', fontsize=8, ha='left')
    curve = dict(arrow, connectionstyle='arc3,rad=-0.35', color=BLUE)
    axes.annotate('', (2.55, -0.14), (4.35, -0.14), arrowprops=curve)
    text = 'the mean of the samples has to equal F'
    axes.text(3.45, -0.6, text, fontsize=8, ha='center', color=BLUE)
    save(figure, 'chain.png')


def ged(image: np.ndarray, samples: np.ndarray, labels: np.ndarray) -> None:
    """GED: three mean distances."""
    terms = ged_terms(samples, labels, num_classes=2)
    figure, axes = plt.subplots(
        3, 3, figsize=(8.4, 3.6), width_ratios=[1, 1, 4]
    )
    text = 'mean distance of'
    one, two, three, four = samples[0], samples[2], labels[0], labels[1]
    rows = (
        (one, three, '2 x', 'a sample and an annotator', 2 * terms.cross),
        (one, two, '-', 'two samples', -terms.samples),
        (three, four, '-', 'two annotators', -terms.labels),
    )
    for row, (a, b, sign, what, value) in zip(axes, rows, strict=True):
        show(row[0], image, a)
        show(row[1], image, b)
        row[2].axis('off')
        row[2].text(0.0, 0.45, f'{sign} {text} {what}', fontsize=10)
        style = dict(fontsize=10, ha='right')
        row[2].text(1.0, 0.45, f'{float(value):+.3f}', **style)
    axes[2, 2].plot([0, 1], [0.2, 0.2], color='black', lw=1)
    axes[2, 2].set(xlim=(0, 1), ylim=(0, 1))
    axes[2, 2].text(0, -0.1, 'GED', fontsize=11, weight='bold')
    style = dict(fontsize=11, ha='right', weight='bold')
    axes[2, 2].text(1, -0.1, f'{float(terms.ged):.3f}', **style)
    figure.subplots_adjust(wspace=0.08, hspace=0.1)
    save(figure, 'ged.png')


def hm_iou(image: np.ndarray, samples: np.ndarray, labels: np.ndarray) -> None:
    """HM-IoU: the best pairs of samples and annotators."""
    samples = samples[:4]
    ious = np.asarray(pairwise_iou(samples[None], labels[None], num_classes=2))
    rows, columns = linear_sum_assignment(-ious[0])
    figure, axes = plt.subplots(2, 4, figsize=(6.4, 3.6))
    for k in range(4):
        show(axes[0, k], image, labels[k], f'annotator {k + 1}')
        show(axes[1, k], image, samples[k])
    figure.subplots_adjust(wspace=0.12, hspace=0.55)
    for row, column in zip(rows, columns, strict=True):
        above, below = axes[0, column], axes[1, row]
        line = mpl.patches.ConnectionPatch(
            xyA=(0.5, -0.02),
            xyB=(0.5, 1.02),
            coordsA=above.transAxes,
            coordsB=below.transAxes,
            color=BLUE,
            lw=2,
        )
        figure.add_artist(line)
        text = f'sample {row + 1}, IoU {ious[0, row, column]:.2f}'
        axes[1, row].set_xlabel(text, fontsize=9)
    mean = ious[0][rows, columns].mean()
    text = f'HM-IoU of these four: the mean, {mean:.2f}'
    figure.text(0.5, -0.02, text, fontsize=9.5, ha='center')
    save(figure, 'hm_iou.png')


def reliability(root: Path) -> None:
    """How often the demo's model is right, by its probability."""
    bins = json.loads((root / 'report.json').read_text())['reliability']
    bins = bins['probabilities']
    figure, axes = plt.subplots(figsize=(3.6, 3.4))
    axes.plot([0.5, 1], [0.5, 1], color=GREY, lw=1, ls='--')
    seen = [k for k, count in enumerate(bins['count']) if count]
    x = [bins['confidence'][k] for k in seen]
    axes.plot(x, [bins['accuracy'][k] for k in seen], 'o-', color=BLUE)
    axes.set(
        xlabel='probability of the decision', ylabel='share that is right'
    )
    save(figure, 'reliability.png')


def main() -> None:
    """Draw all."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else 'work_dirs/demo')
    image = read(DEMO / f'images/test/{NAME}.png')
    samples = [read(f) for f in sorted((root / 'samples' / NAME).iterdir())]
    maps = np.stack(samples).astype(np.int64)
    labels = np.stack(annotators()).astype(np.int64)
    front(image, samples)
    of_annotators()
    noise(image)
    chain()
    ged(image, maps, labels)
    hm_iou(image, maps, labels)
    reliability(root)
    for kind in ('hypotheses', 'contours'):
        shutil.copy(root / kind / f'{NAME}.png', HERE / f'{kind}.png')


if __name__ == '__main__':
    main()
