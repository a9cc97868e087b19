"""What lies in a folder of images and label maps, however it is arranged."""

import os.path as osp
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import cv2
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

        def count(names: Iterable[str]) -> str:
            counts = sorted(Counter(names).items())
            return ', '.join(f'{number} {name}' for name, number in counts)

        patients = {e.patient for e in self.entries if e.patient}
        sizes = sorted({c.size for c in self.contents if c.values})
        ends = dict.fromkeys((sizes[0], sizes[-1]))
        size = ' to '.join(f'{h}x{w}' for h, w in ends)
        new, ids = self.label_map(), self.ids
        splits = count(e.split or 'no split' for e in self.entries)
        many = count(f'with {len(e.labels)}' for e in self.entries)
        lines = [
            f'{len(self.entries)} images of {size} (height x width)',
            f'Splits       {splits}',
            f'Values       {checking.summarise(self.values)}',
            f'Annotators   images: {many}',
            f'Patients     {len(patients) or "unknown"}',
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
        return '\n'.join(lines)


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
    # Who numbers classes without a gap may have a rare one.
    rare = found.doubts if _without_gaps(found.ids) else found.problems
    rare += _rare_ids(found)
    found.doubts += _odd_numbers(found)
    splits: dict[str, list[dict]] = defaultdict(list)
    for entry in found.entries:
        where = osp.join(root, entry.image)
        record = dict(img_path=where, patient=entry.patient)
        splits[entry.split or 'train'].append(record)
    found.doubts += checking.check_splits(splits)
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
    if all(ids) and ids and not any({*found} - {0} for found in ids):
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
    square, middle = np.ones((3, 3), np.uint8), np.s_[1:-1, 1:-1]
    same = cv2.erode(label, square) == cv2.dilate(label, square)
    return {*label[middle][same[middle]].tolist()}


def _rare_ids(found: FolderLayout) -> list[Problem]:
    """Label maps with ids that no other image has.

    Values in between, of a mask that was resized, smoothed or painted over,
    fill no square of 3 x 3 pixels on two images. Where ids follow each other
    they are classes: those may be thin.
    """
    thin = _without_gaps(found.ids)
    images = Counter(
        k
        for contents in found.contents
        for k in (set().union(*contents.ids) if thin else contents.wide)
    )
    ids = {k for k in found.ids if images[k] < 2 < len(found.ids)}
    text = 'ids {} are on no other image (3 x 3 pixels or more): was the mask '
    text += 'resized or painted over? So rare a class cannot be learnt'
    return [
        (osp.join(found.root, file), text.format(sorted(ids & {*counts})))
        for entry, contents in zip(found.entries, found.contents, strict=True)
        for file, counts in zip(entry.labels, contents.ids, strict=False)
        if ids & {*counts} and len(counts) <= MOST_IDS
    ]


def _odd_numbers(found: FolderLayout) -> list[Problem]:
    """Images with another number of label maps than nearly all others."""
    numbers = Counter(len(entry.labels) for entry in found.entries)
    (usual, often), *_ = numbers.most_common(1) or [(0, 0)]
    text = f'{{}} label maps, where {often} images have {usual}'
    return [
        (osp.join(found.root, entry.image), text.format(len(entry.labels)))
        for entry in found.entries
        if len(entry.labels) not in (0, usual)
        and often > 0.9 * numbers.total()
    ]
