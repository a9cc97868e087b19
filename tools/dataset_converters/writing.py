"""What the converters share: splits, settings, a summary."""

import argparse
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from mmcar.cli import add_console_arguments
from mmcar.datasets import MultiAnnotatorWriter
from mmcar.utils.errors import UserError
from mmcar.utils.files import read_json, write_json

SPLITS = ('train', 'val', 'test')
SETTINGS = 'settings.json'


def converter_arguments(
    description: str | None, *paths: str
) -> argparse.ArgumentParser:
    """A parser with the arguments that all converters have.

    Args:
        description: What the converter does.
        paths: Names of the files and folders that it needs.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawTextHelpFormatter
    )
    for name in paths:
        parser.add_argument(name, type=Path)
    add_console_arguments(parser)
    return parser


def positive(
    parser: argparse.ArgumentParser, args: argparse.Namespace, *names: str
) -> None:
    """Refuse arguments, where they are given, that are not positive."""
    for name in names:
        value = getattr(args, name)
        if value is not None and value <= 0:
            parser.error(f'--{name} {value}: expected a positive number')


def split_patients(
    patients: Sequence[str], seed: int, percent: Sequence[int] = (70, 15, 15)
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
    found = read_json(path)
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
    """A writer that goes on where it stopped, and says how annotators agree.

    Args:
        out_dir: Folder to write to.
    """

    def __init__(self, out_dir: Path) -> None:
        super().__init__(out_dir)
        # By split, by number of annotators who drew, of pairs of annotators.
        self.images, self.drew, self.iou = Counter(), Counter(), Counter()

    def complete(
        self,
        split: str,
        stem: str,
        masks: np.ndarray,
        image: Callable[[], np.ndarray],
    ) -> None:
        """Count masks (A, H, W), and write what is not there with its image.

        Args:
            split: Of the sample.
            stem: Its name.
            masks: Annotators' masks (A, H, W).
            image: Makes the image (H, W).
        """
        drew = int(masks.any((1, 2)).sum())
        iou = pairwise_iou(masks)
        self.images[split] += 1
        self.drew[drew] += 1
        self.iou['all'] += iou
        self.iou['all drew'] += iou * (drew == len(masks))
        if not self.image_path(split, stem).is_file():
            self.write(split, stem, image(), masks)

    def summary(self) -> str:
        """What the data set holds, in a few lines."""
        total = max(self.images.total(), 1)
        all_drew = max(self.drew[max(self.drew, default=0)], 1)
        splits = ', '.join(f'{s} {self.images[s]}' for s in SPLITS)
        drew = [f'{n}: {c} ({c / total:.1%})' for n, c in self.drew.items()]
        return (
            f'{self.images.total()} slices ({splits}), {self.written} of them '
            f'written now, in {self.out_dir}\n'
            'mean pairwise IoU between annotators (both empty: 1): '
            f'{self.iou["all"] / total:.3f}; where all drew: '
            f'{self.iou["all drew"] / all_drew:.3f}\n'
            'slices by number of annotators who drew: '
            + ', '.join(sorted(drew))
        )


def pairwise_iou(masks: np.ndarray) -> float:
    """Mean IoU over all pairs of different annotators.

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
