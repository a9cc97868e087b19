"""Scores of slices with standard errors by patient, and by kind of nodule.

Slices of a nodule resemble each other and a patient has up to 14 nodules, so
the slices of a test set are far fewer cases than they are files.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mmcar.datasets.label_files import read_label
from mmcar.utils.errors import UserError

KEY = re.compile(r'(\w+)/((LIDC-IDRI-\d{4})/nodule-\d+)/slice-\d+')
DRAWS = 2000
SIZES = (0, 50, 150, 500)  # pixels from which on a nodule is of the next size
Scores = dict[str, dict[str, float]]
"""Image -> score -> value."""


@dataclass(frozen=True)
class Score:
    """Mean over slices with its standard error by patient."""

    mean: float
    error: float

    def __str__(self) -> str:
        return f'{self.mean:.3f} ± {self.error:.3f}'


@dataclass
class Nodule:
    """What readers made of a nodule.

    Attributes:
        readers: Names of those who marked it on any slice.
        size: Area of their marks on the slice where it is largest, in
            pixels: the mean over those who marked it there.
    """

    readers: set[str]
    size: float = 0.0


def read_scores(paths: Iterable[Path]) -> Scores:
    """Join tables that metrics write by ``csv_file``.

    Args:
        paths: Tables of the same images.

    Returns:
        The scores of every image.

    Raises:
        UserError: They are of different images, or no such tables.
    """
    found: Scores = {}
    for path in paths:
        with open(path, newline='') as file:
            rows = {
                row.pop('image', None): row for row in csv.DictReader(file)
            }
        if not rows or (found and rows.keys() != found.keys()):
            raise UserError(
                f'{path}: {len(rows)} images, others have {len(found)}; '
                'expected tables of the same images from one test'
            )
        for image, row in rows.items():
            scores = {k: float(v) for k, v in row.items()}
            scores.pop('labels_left_out', None)
            found.setdefault(image, {}).update(scores)
    return found


def parts_of(image: str) -> tuple[str, str, str]:
    """Split, nodule and patient of an image, by its name.

    Args:
        image: E.g. ``test/LIDC-IDRI-0003/nodule-0/slice-1.png``.
    """
    match = KEY.search(image)
    if match is None:
        raise UserError(
            f'{image}: expected <split>/<patient>/nodule-<k>/slice-<n>.png, '
            'as tools/dataset_converters/lidc_slices.py names images'
        )
    return match[1], match[2], match[3]


def bootstrap(
    values: Sequence[float],
    patients: Sequence[str],
    draws: int = DRAWS,
    seed: int = 0,
) -> Score:
    """Mean of values and its standard error over draws of patients.

    Args:
        values: One per slice.
        patients: Of each slice.
        draws: How often as many patients are drawn with replacement.
        seed: Of the draws.
    """
    if len(values) != len(patients) or not len(values):
        raise UserError(
            f'{len(values)} values of {len(patients)} patients; expected as '
            'many, at least one'
        )
    _, owner = np.unique(patients, return_inverse=True)
    sums = np.bincount(owner, weights=values)
    counts = np.bincount(owner)
    number = len(sums)
    rng = np.random.default_rng(seed)
    # How often each patient is drawn: (draws, patients).
    times = rng.multinomial(number, np.full(number, 1 / number), size=draws)
    means = (times @ sums) / (times @ counts)
    return Score(float(np.mean(values)), float(means.std(ddof=1)))


def read_nodules(images: Iterable[str], data_root: Path) -> dict[str, Nodule]:
    """Look up what readers marked, on the given slices.

    Args:
        images: Names of the slices.
        data_root: What the converter wrote.

    Returns:
        The nodules by name.
    """
    nodules: dict[str, Nodule] = {}
    for image in images:
        split, nodule, _ = parts_of(image)
        stem = image[image.index(nodule) :].removesuffix('.png')
        folder = Path(data_root) / 'annotations' / split / stem
        areas = {
            path.stem: int(read_label(str(path)).astype(bool).sum())
            for path in sorted(folder.glob('r*.png'))
        }
        if not areas:
            raise UserError(f'{folder}: no masks; check data_root')
        marks = [area for area in areas.values() if area]
        found = nodules.setdefault(nodule, Nodule(set()))
        found.readers |= {reader for reader, area in areas.items() if area}
        found.size = max(found.size, float(np.mean(marks)) if marks else 0.0)
    return nodules


def kinds_of(nodule: Nodule) -> tuple[str, str]:
    """The two lines of the table that a nodule counts in."""
    above = [size for size in SIZES if nodule.size >= size]
    index = len(above)
    largest = index == len(SIZES)
    size = (
        f'{SIZES[-1]} pixels and more'
        if largest
        else f'{above[-1]} to {SIZES[index] - 1} pixels'
    )
    return f'marked by {len(nodule.readers)}', size


def summarise(
    scores: Scores, nodules: Mapping[str, Nodule] | None = None
) -> dict[str, tuple[int, dict[str, Score]]]:
    """Scores of all slices, and of those of each kind of nodule.

    Args:
        scores: Of every image.
        nodules: Of the images; None: no kinds.

    Returns:
        Line -> number of slices, and the scores.
    """
    lines: dict[str, list[str]] = defaultdict(list)
    lines['all'] = list(scores)
    for image in scores if nodules else ():
        for kind in kinds_of(nodules[parts_of(image)[1]]):
            lines[kind].append(image)
    table = {}
    for line in sorted(lines, key=_order):
        images = lines[line]
        patients = [parts_of(image)[2] for image in images]
        table[line] = (
            len(images),
            {
                name: bootstrap([scores[i][name] for i in images], patients)
                for name in scores[images[0]]
            },
        )
    return table


def _order(line: str) -> tuple:
    """All, then by readers, then by size."""
    numbers = re.findall(r'\d+', line) or [0]
    return line != 'all', 'pixels' in line, int(numbers[0])


def markdown(table: Mapping[str, tuple[int, dict[str, Score]]]) -> str:
    """A summary as a table of Markdown."""
    names = list(next(iter(table.values()))[1])
    head = ['slices of', 'number', *(name.replace('_', ' ') for name in names)]
    lines = [head, ['---'] * len(head)]
    for line, (number, scores) in table.items():
        lines.append([line, str(number), *map(str, scores.values())])
    return '\n'.join(f'| {" | ".join(line)} |' for line in lines)
