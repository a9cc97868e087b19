"""What lies in a folder of images and label maps, however it is arranged."""

import os.path as osp
from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..utils.errors import UserError
from . import checking
from .folder_pairs import Entry, pair_folder
from .label_files import read_label
from .listing import Problem

MOST_IDS, UNLABELLED = 64, 255


class Contents(NamedTuple):
    """What an image and its label maps hold."""

    problems: list[Problem]
    doubts: list[Problem]
    values: checking.ImageValues | None = None
    size: tuple[int, int] = (0, 0)
    window: tuple[float, float] = (0.0, 0.0)
    ids: Sequence[Counter] = ()  # of each label map; empty if unreadable
    wide: Collection[int] = ()  # ids of whole squares of 3 x 3 pixels
    ious: Sequence[tuple[int, float]] = ()  # of an id, of two annotators


@dataclass
class FolderLayout:
    """What was found; problems are sure to break a training, doubts not."""

    root: Path
    entries: list[Entry]
    problems: list[Problem]
    doubts: list[Problem]
    contents: list[Contents] = field(default_factory=list)

    @property
    def values(self) -> list[checking.ImageValues]:
        """Of the images that can be read."""
        return [c.values for c in self.contents if c.values]

    @property
    def ids(self) -> Counter:
        """Pixels of each id of the files, in all label maps."""
        return sum((n for c in self.contents for n in c.ids), Counter())

    def label_map(self) -> dict[int, int]:
        """Ids of classes for the ids of the files, unlabelled left out.

        255 is unlabelled where the others are 0, 1, ... without a gap; but
        masks of 0 and 1 beside masks of 0 and 255 mean the same.
        """
        files = [set(ids) for c in self.contents for ids in c.ids]
        ids = sorted(set().union(*files))
        if ids == [0, 1, UNLABELLED] and not any({1, 255} <= f for f in files):
            return {0: 0, 1: 1, UNLABELLED: 1}
        ids = _without_gaps(ids) or ids
        return {old: new for new, old in enumerate(ids)}

    def agreement(self) -> list[float]:
        """IoU of every two annotators of an image, of each class but 0."""
        new = self.label_map()
        return [iou for c in self.contents for k, iou in c.ious if new.get(k)]

    def text(self) -> str:
        """What was found, for people."""
        patients = {e.patient for e in self.entries if e.patient}
        sizes = sorted({c.size for c in self.contents if c.values})
        size = ' to '.join(f'{h}x{w}' for h, w in (sizes[0], sizes[-1]))
        counts = Counter(len(e.labels) for e in self.entries)
        many = ', '.join(
            f'{a} on {n} images' for a, n in sorted(counts.items())
        )
        splits = Counter(e.split or 'no split' for e in self.entries)
        new, ids = self.label_map(), self.ids
        lines = [
            f'{len(self.entries)} images of {size} (height x width)',
            f'Splits       {", ".join(f"{n} {s}" for s, n in splits.items())}',
            f'Values       {checking.summarise(self.values)}',
            f'Annotators   {many}',
        ]
        for old in sorted(ids):
            name = f'class {new[old]}' if old in new else 'unlabelled'
            share = ids[old] / ids.total()
            lines.append(f'Id {old:<9} {name}, {share:.2%} of all pixels')
        if agreement := self.agreement():
            lines.append(
                f'Agreement    IoU of two annotators {np.mean(agreement):.2f} '
                f'on average, below {np.quantile(agreement, 0.1):.2f} in a '
                'tenth of the cases'
            )
        return '\n'.join(
            [*lines, f'Patients     {len(patients) or "unknown"}']
        )


def look_at_folder(root: str | Path) -> FolderLayout:
    """Say what lies in a folder, and what is wrong with which file."""
    if not Path(root).is_dir():
        raise UserError(f'{root}: no such folder; expected images and labels')
    found = FolderLayout(Path(root), *pair_folder(Path(root)))
    with ThreadPoolExecutor(4) as pool:  # decoding releases the lock
        found.contents = list(pool.map(partial(_read, root), found.entries))
    for contents in found.contents:
        found.problems += contents.problems
        found.doubts += contents.doubts
    # Of values of two types, one window cannot be right.
    mixed = len({v.dtype for v in found.values}) > 1
    odd = found.problems if mixed else found.doubts
    odd += checking.find_odd_values(found.values)
    found.problems += _thin_ids(found)
    if torn := _torn_patients(found.entries):
        text = f'{len(torn)} patients are in more than one split, as {torn[0]}'
        found.doubts.append((str(root), f'{text}: scores will be too good'))
    if found.ids and len({*found.label_map().values()}) < 2:
        text = f'all label maps hold {[*found.ids]} alone: nothing to learn'
        found.problems.append((str(root), text))
    return found


def _read(root: str | Path, entry: Entry) -> Contents:
    """Read an image and its label maps."""
    where = osp.join(root, entry.image)
    problems: list[Problem] = []
    image = checking.read_or_tell(checking.read_deep, where, problems)
    if image is None:
        return Contents(problems, [])
    values, labels, ids, ious = checking.measure(where, image), [], [], []
    wide: set[int] = set()
    doubts = checking.find_bad_values(values)
    read = partial(read_label, shape=image.shape[:2])
    for path in (osp.join(root, label) for label in entry.labels):
        label = checking.read_or_tell(read, path, problems)
        if label is None:
            ids.append(Counter())
            continue
        labels.append(label)
        counts = enumerate(np.bincount(label.ravel()).tolist())
        ids.append(Counter({k: number for k, number in counts if number}))
        wide |= _wide(label)
        if len(ids[-1]) > MOST_IDS:
            text = f'{len(ids[-1])} ids; expected a label map, no picture'
            problems.append((path, text))
    if ids and not any({*found} - {0} for found in ids):
        doubts.append((where, 'no annotator marked anything'))
    for a, b in combinations(labels, 2):
        for k in {*np.unique(a).tolist(), *np.unique(b).tolist()}:
            one, other = a == k, b == k
            ious.append((k, float((one & other).sum() / (one | other).sum())))
    low, high = np.percentile(image, (0.5, 99.5)).tolist()
    size, window = (image.shape[0], image.shape[1]), (low, high)
    return Contents(problems, doubts, values, size, window, ids, wide, ious)


def _without_gaps(ids: Collection[int]) -> list[int]:
    """The ids but 255, in order, if there are several without a gap."""
    others = sorted({*ids} - {UNLABELLED})
    whole = len(others) > 1 and others[-1] - others[0] == len(others) - 1
    return others if whole else []


def _wide(label: np.ndarray) -> set[int]:
    """Ids that fill a square of 3 x 3 pixels."""
    rows = label[1:] == label[:-1]
    rows = rows[1:] & rows[:-1]  # three equal ones, one above the other
    same = label[1:-1, 1:] == label[1:-1, :-1]
    middle = same[:, 1:] & same[:, :-1]
    middle &= rows[:, 2:] & rows[:, 1:-1] & rows[:, :-2]
    return {*label[1:-1, 1:-1][middle].tolist()}


def _thin_ids(found: FolderLayout) -> list[Problem]:
    """Label maps with ids that no class has.

    Values in between, of a mask that was resized or smoothed, and single
    pixels fill no square of 3 x 3 pixels anywhere. Where ids follow each
    other they are classes: those may be thin.
    """
    ids = {*found.ids}
    if len(ids) < 3 or _without_gaps(ids):
        return []
    ids -= {k for contents in found.contents for k in contents.wide}
    return [
        (
            osp.join(found.root, file),
            f'ids {sorted(ids & {*counts})}, nowhere as large as 3 x 3 '
            'pixels: was the mask resized or smoothed? Number classes that '
            'are so thin 0, 1, 2, ...',
        )
        for entry, contents in zip(found.entries, found.contents, strict=True)
        for file, counts in zip(entry.labels, contents.ids, strict=False)
        if ids & {*counts}
    ]


def _torn_patients(entries: Sequence[Entry]) -> list[str]:
    """Patients in more than one split."""
    splits: dict[str, set] = {}
    for entry in entries:
        if entry.patient:
            splits.setdefault(entry.patient, set()).add(entry.split)
    return sorted(name for name, found in splits.items() if len(found) > 1)
