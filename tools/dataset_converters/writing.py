"""What the converters share: splits, settings, a summary."""

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mmcar.datasets import MultiAnnotatorWriter
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_json

SPLITS = ('train', 'val', 'test')
SETTINGS = 'settings.json'


def positive(
    parser: argparse.ArgumentParser, args: argparse.Namespace, *names: str
) -> None:
    """Refuse arguments, where they are given, that are not positive."""
    for name in names:
        value = getattr(args, name)
        if value is not None and value <= 0:
            parser.error(f'--{name} {value}: expected a positive number')


def split_patients(
    patients: Sequence[str],
    seed: int,
    percent: Sequence[int] = (70, 15, 15),
) -> dict[str, str]:
    """Shuffle patients and deal them out to train, val and test.

    Args:
        patients: Their names.
        seed: Of the shuffle.
        percent: Shares of train, val and test, in steps of 5 %.

    Returns:
        The split of each patient, in shuffled order: the first N patients
        are divided in the same proportions, whatever N.

    Raises:
        UserError: The shares are no such shares.
    """
    steps = all(share > 0 and share % 5 == 0 for share in percent)
    if len(percent) != 3 or sum(percent) != 100 or not steps:
        raise UserError(
            f'split {":".join(map(str, percent))}: expected the shares of '
            'train, val and test in steps of 5 that add up to 100, as in '
            '70:15:15'
        )
    order = np.random.default_rng(seed).permutation(sorted(patients))
    shares = zip(SPLITS, percent, strict=True)
    deal = [split for split, share in shares for _ in range(share // 5)]
    # Spread over the round, so that few patients fill every split.
    deal = [deal[i * 7 % 20] for i in range(20)]
    return {str(p): deal[i % 20] for i, p in enumerate(order)}


def claim_folder(
    out_dir: Path, settings: Mapping[str, object], grows: str | None = None
) -> None:
    """Keep one folder to one set of settings, so that resuming is safe.

    Args:
        out_dir: Folder that a converter writes to.
        settings: What the content depends on.
        grows: Setting that may be larger than in the folder, because more of
            it only adds files. The folder keeps the smaller one: let
            :func:`write_settings` note the larger one once all is written.

    Raises:
        UserError: The folder was begun with other settings.
    """
    path = out_dir / SETTINGS
    if not path.is_file():
        write_settings(out_dir, settings)
        return
    found = json.loads(path.read_text())
    expected = dict(settings)
    if grows in found and found[grows] < expected[grows]:
        expected[grows] = found[grows]
    if found != expected:
        raise UserError(
            f'{path}: written with {found}, not {dict(settings)}; choose '
            'another folder or delete this one'
        )


def write_settings(out_dir: Path, settings: Mapping[str, object]) -> None:
    """Note what the content of a folder was made with."""
    write_json(out_dir / SETTINGS, dict(settings))


class CountingWriter(MultiAnnotatorWriter):
    """A writer that sums up how much readers agree.

    Args:
        out_dir: Folder to write to.
    """

    def __init__(self, out_dir: Path) -> None:
        super().__init__(out_dir)
        self.images = Counter()
        self.drew = Counter()
        self.pair_iou = 0.0
        self.all_drew_pair_iou = 0.0

    def count(self, split: str, masks: np.ndarray) -> None:
        """Add the masks (A, H, W) of a sample to the summary."""
        drew = int(masks.any((1, 2)).sum())
        iou = pairwise_iou(masks)
        self.images[split] += 1
        self.drew[drew] += 1
        self.pair_iou += iou
        if drew == len(masks):
            self.all_drew_pair_iou += iou

    def add(self, other: 'CountingWriter') -> None:
        """Add what another writer has seen to the summary."""
        self.written += other.written
        self.images += other.images
        self.drew += other.drew
        self.pair_iou += other.pair_iou
        self.all_drew_pair_iou += other.all_drew_pair_iou

    def summary(self) -> str:
        """What the data set holds, in a few lines."""
        total = max(self.images.total(), 1)
        readers = max(self.drew, default=0)
        lines = [
            f'{self.images.total()} slices ('
            + ', '.join(f'{s} {self.images[s]}' for s in SPLITS)
            + f'), {self.written} of them written now, in {self.out_dir}',
            'mean pairwise IoU between readers (both empty: 1): '
            f'{self.pair_iou / total:.3f}; where all drew: '
            f'{self.all_drew_pair_iou / max(self.drew[readers], 1):.3f}',
            'slices by number of readers who drew: '
            + ', '.join(
                f'{n}: {c} ({c / total:.1%})'
                for n, c in sorted(self.drew.items())
            ),
        ]
        return '\n'.join(lines)


def pairwise_iou(masks: np.ndarray) -> float:
    """Mean IoU over all pairs of different readers.

    Args:
        masks: Binary masks, (A, H, W) with A of at least 2.

    Returns:
        The mean; a pair of empty masks counts as 1.
    """
    flat = masks.reshape(len(masks), -1).astype(np.float32)
    inter = flat @ flat.T
    area = flat.sum(1)
    union = area[:, None] + area[None] - inter
    iou = np.where(union == 0, 1, inter / np.maximum(union, 1))
    return float(iou[np.triu_indices(len(masks), 1)].mean())
