"""Convert the public PNG copy of LIDC-IDRI: real CT, four annotators.

Example::

    python tools/dataset_converters/lidc_slices.py \
        LIDC-IDRI-slices.tar.gz data/lidc_slices

The source is the folder as it unpacks or the archive as it was downloaded
(tar, in any compression, or zip), with files
``<patient>/nodule-<k>/{images,mask-0,...,mask-3}/slice-<n>.png`` in it, at any
depth. An archive is read in memory: nothing of it is unpacked, no link in it
is followed. Slices that no annotator marked are left out.

Patients are split by a rule that needs no list: the SHA-256 of the patient's
id, as a number modulo 10, is 0 to 6 for train, 7 for val, 8 and 9 for test.
To choose settings without a look at either, ``choose_train.txt`` lists the
training slices of 0 to 5, ``choose_val.txt`` those of 6. Run it again after
an interruption: it goes on.
"""

import io
import os
import re
import tarfile
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image
from writing import CountingWriter, claim_folder, converter_arguments

from mmcar.cli import run_tool
from mmcar.datasets.image_files import naming
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_file
from mmcar.utils.progress import track

LAYOUT = re.compile(
    r'(?:^|/)(LIDC-IDRI-\d{4}/nodule-\d+)/(images|mask-[0-3])/'
    r'(slice-\d+)\.png\Z'
)
KINDS = ('images', 'mask-0', 'mask-1', 'mask-2', 'mask-3')
SPLITS = 7 * ['train'] + ['val'] + 2 * ['test']
CHOICE = {True: 'choose_train.txt', False: 'choose_val.txt'}
MAX_BYTES = 2**20  # of a file; those of 128x128 pixels have up to 17 kB
MAX_SIDE = 512  # pixels of a whole CT slice
BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError)


class Source(NamedTuple):
    """A file of a folder or archive.

    Attributes:
        name: Where it lies there, with forward slashes.
        size: Its bytes, or None for a link or whatever else is no file.
        read: Returns its content.
    """

    name: str
    size: int | None
    read: Callable[[], bytes]


def digit_of(patient: str) -> int:
    """The number from 0 to 9 that decides a patient's split."""
    return int(sha256(patient.encode()).hexdigest(), 16) % 10


def list_folder(folder: Path) -> Iterator[Source]:
    """All files below a folder; linked folders are listed, not entered."""
    for place, folders, files in os.walk(folder):
        for path in (Path(place, name) for name in sorted(files + folders)):
            if path.is_symlink() or not path.is_dir():
                plain = path.is_file() and not path.is_symlink()
                size = path.stat().st_size if plain else None
                yield Source(path.as_posix(), size, path.read_bytes)


def list_tar(archive: tarfile.TarFile) -> Iterator[Source]:
    """All entries of a tar archive that are no folders."""
    for member in archive:
        if not member.isdir():
            size = member.size if member.isreg() else None
            read = partial(_read_member, archive, member)
            yield Source(member.name, size, read)


def _read_member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    return archive.extractfile(member).read()


def list_zip(archive: zipfile.ZipFile) -> Iterator[Source]:
    """All entries of a zip archive that are no folders."""
    for info in archive.infolist():
        if not info.is_dir():
            link = info.external_attr >> 16 & 0o170000 == 0o120000
            size = None if link else info.file_size
            yield Source(info.filename, size, partial(archive.read, info))


def list_source(source: Path) -> Iterator[Source]:
    """All files of a folder or archive; an error if it is neither."""
    if source.is_dir():
        yield from list_folder(source)
    elif not source.is_file():
        raise UserError(f'{source}: expected a folder or an archive')
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as archive:
            yield from list_zip(archive)
    else:
        with tarfile.open(source) as archive:
            yield from list_tar(archive)


@contextmanager
def whole(source: Path) -> Iterator[None]:
    """Let all that goes wrong while an archive is read name the archive."""
    try:
        yield
    except (*BROKEN, OSError) as error:
        if source.is_dir():
            raise
        raise UserError(
            f'{source}: not a complete tar or zip archive ({error}); '
            'download it again'
        ) from error


def read_slices(source: Path) -> dict[str, dict[str, bytes]]:
    """Read all files of the layout; others are passed over.

    Args:
        source: Folder or archive.

    Returns:
        The files' contents by slice, ``<patient>/nodule-<k>/slice-<n>``, and
        kind, in the order of slices.

    Raises:
        UserError: Links, files that are too large, there twice or missing,
            all by name; or there are none at all.
    """
    slices: dict[str, dict[str, bytes]] = defaultdict(dict)
    bad = []
    with whole(source):
        for name, size, read in list_source(source):
            match = LAYOUT.search(name)
            if match is None:
                continue
            nodule, kind, number = match.groups()
            files = slices[f'{nodule}/{number}']
            if size is None:
                bad.append(f'{name}: a link or device; expected a file')
            elif size > MAX_BYTES:
                bad.append(f'{name}: {size} bytes; at most {MAX_BYTES}')
            elif kind in files:
                bad.append(f'{name}: the second of that slice; expected one')
            files[kind] = b'' if size is None or size > MAX_BYTES else read()
    for name, files in slices.items():
        if lacking := [kind for kind in KINDS if kind not in files]:
            bad.append(f'{name}: without {", ".join(lacking)}')
    refuse(source, bad)
    if not slices:
        raise UserError(
            f'{source}: no <patient>/nodule-<k>/images/slice-<n>.png in it; '
            'expected the layout of LIDC-IDRI-slices'
        )
    return {name: slices[name] for name in sorted(slices)}


def refuse(source: Path, bad: list[str]) -> None:
    """Raise one error that names the first ten bad files, if any."""
    if bad:
        shown = '\n  '.join(bad[:10])
        more = f'\n  ... and {len(bad) - 10} more' if len(bad) > 10 else ''
        raise UserError(f'{source}: {len(bad)} bad files\n  {shown}{more}')


def decode(data: bytes) -> np.ndarray:
    """Grey values (H, W) of a PNG file, refused before a large one unfolds."""
    image = Image.open(io.BytesIO(data), formats=['PNG'])
    if image.mode != 'L' or max(image.size) > MAX_SIDE:
        raise UserError(
            f'{image.size} pixels of mode {image.mode}; expected 8-bit grey '
            f'of at most {MAX_SIDE} a side'
        )
    return np.array(image)


def decode_slice(
    name: str, files: Mapping[str, bytes]
) -> tuple[np.ndarray, np.ndarray]:
    """Image (H, W) and masks (4, H, W) of 0 and 1 of a slice.

    Raises:
        UserError: A file is none of these; its kind is named.
    """
    maps = []
    for kind in KINDS:
        with naming(f'{name}, {kind}'):
            maps.append(decode(files[kind]))
            if maps[-1].shape != maps[0].shape:
                raise UserError(
                    f'{maps[-1].shape} pixels; expected those of the image, '
                    f'{maps[0].shape}'
                )
            if kind != 'images' and not np.isin(maps[-1], (0, 255)).all():
                values = np.unique(maps[-1])[:5].tolist()
                raise UserError(f'values {values}...; expected 0 and 255')
    return maps[0], np.stack(maps[1:]) // 255


def convert(source: Path, out_dir: Path) -> str:
    """Write all slices that an annotator marked, and return the summary."""
    slices, bad = read_slices(source), []
    marked = {}
    for name, files in track(slices.items(), 'Reading'):
        try:
            image, masks = decode_slice(name, files)
        except UserError as error:
            bad.append(str(error))
            continue
        if masks.any():
            marked[name] = image, masks
    refuse(source, bad)
    patients = {name.split('/')[0] for name in marked}
    settings = {'patients': len(patients), 'slices': len(marked)}
    claim_folder(out_dir, {'layout': 'LIDC-IDRI-slices', **settings})
    writer = CountingWriter(out_dir)
    lists = defaultdict(list)
    for name, (image, masks) in track(marked.items(), 'Writing'):
        digit = digit_of(name.split('/')[0])
        split = SPLITS[digit]
        writer.complete(split, name, masks, lambda image=image: image)
        if split == 'train':
            lists[CHOICE[digit < 6]].append(name)
    for file, names in lists.items():
        write_file(out_dir / file, ('\n'.join(names) + '\n').encode())
    return (
        f'{len(patients)} patients; {len(slices) - len(marked)} slices that '
        f'no annotator marked are left out\n{writer.summary()}'
    )


def main(argv: list[str] | None = None) -> None:
    """Convert, from the command line."""
    args = converter_arguments(__doc__, 'source', 'out_dir').parse_args(argv)
    print(convert(args.source, args.out_dir))


if __name__ == '__main__':
    run_tool(main)
