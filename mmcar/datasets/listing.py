"""Which files of a data set belong together, by folders or by an index.

Errors of an index say where in it they are, not what stands there: it may be
any other file, given by mistake.
"""

import csv
import io
import json
import os
import os.path as osp
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple, NoReturn

import mmengine.fileio as fileio

from ..utils.errors import MissingFileError, UserError
from ..utils.files import natural_key

# A file and what is wrong with it.
Problem = tuple[str, str]
# An image and its label maps, relative to their folders; None: no labels.
Pair = tuple[str, Sequence[str] | None]


def raise_problems(problems: Sequence[Problem], what: str) -> None:
    """Raise one UserError that lists the first few problems, if any."""
    if problems:
        shown = '\n'.join(f'  {file}: {text}' for file, text in problems[:10])
        more = len(problems) - 10
        rest = f'\n  ... and {more} more' if more > 0 else ''
        raise UserError(
            f'{what}: {len(problems)} problems\n{shown}{rest}\n'
            'tools/analysis_tools/check_dataset.py lists all of them'
        )


class Files(NamedTuple):
    """The files below a folder, relative to it and sorted.

    Attributes:
        folder: The folder.
        suffixes: What was looked for, in upper or lower case.
        found: Files that end in one of them.
    """

    folder: str
    suffixes: tuple[str, ...]
    found: list[str]


def list_files(
    folder: str, suffixes: tuple[str, ...], backend_args: dict | None = None
) -> Files:
    """List the files below a folder, in any depth."""
    if not fileio.isdir(folder, backend_args=backend_args):
        raise MissingFileError(
            f'{folder}: no such folder; check data_root and data_prefix'
        )
    files: Iterable[str] = _local_files(folder)
    if backend_args or '://' in folder:
        files = fileio.list_dir_or_file(
            folder, list_dir=False, recursive=True, backend_args=backend_args
        )
    wanted = tuple(suffix.lower() for suffix in suffixes)
    found = sorted(file for file in files if file.lower().endswith(wanted))
    return Files(folder, suffixes, found)


def _local_files(folder: str) -> Iterator[str]:
    """Files below a folder, also links that lead nowhere: readers say so."""

    def refuse(error: OSError) -> NoReturn:
        raise error

    for place, folders, files in os.walk(folder, True, refuse, True):
        here = Path(osp.realpath(place))
        for name in list(folders):
            path = osp.join(place, name)
            # A link to a folder it lies in has nothing new, and no end.
            if osp.islink(path) and here.is_relative_to(osp.realpath(path)):
                folders.remove(name)
        for name in files:
            if not name.startswith('.'):
                yield osp.relpath(osp.join(place, name), folder)


def stem_of(file: str) -> str:
    """The path of a file without its suffix."""
    return osp.splitext(file)[0]


def group_labels(
    files: Iterable[str], stems: Collection[str]
) -> dict[str | None, list[str]]:
    """Sort label files by the image they belong to.

    Args:
        files: Paths relative to the annotation folder, in any mixture of
            ``<stem>/<annotator>.png``, ``<stem>_l<number>.png`` and, for a
            single annotator, ``<stem>.png``.
        stems: Of the images, with their folders, if any.

    Returns:
        For each stem the files in natural order; for None those of no image.
    """
    stems, groups = set(stems), defaultdict(list)
    for file in sorted(files, key=natural_key):
        path = PurePosixPath(file)
        stem = path.with_suffix('').as_posix()
        names = (stem, re.sub(r'_l\d+$', '', stem), path.parent.as_posix())
        owner = next((name for name in names if name in stems), None)
        groups[owner].append(file)
    return groups


def match_files(
    images: Files, labels: Files
) -> tuple[list[Pair], list[Problem]]:
    """Pair images with their label maps.

    Returns:
        All pairs, and the problems of label maps without an image.
    """
    files = labels.found
    if osp.normpath(images.folder) == osp.normpath(labels.folder):
        files = sorted(set(files) - set(images.found))
    groups = group_labels(files, map(stem_of, images.found))
    what = f'no image of it; expected {images.suffixes} in {images.folder}'
    return (
        [(i, groups.get(stem_of(i), [])) for i in images.found],
        [(osp.join(labels.folder, file), what) for file in groups[None]],
    )


def find_unpaired(
    pairs: Sequence[Pair], images: Files, labels: Files | None
) -> list[Problem]:
    """What is wrong with the pairs: no label map, or too many files."""
    problems = []
    wanted = 'expected at least one'
    if labels:
        wanted += f' {labels.suffixes} in {labels.folder}'
    for image, maps in pairs:
        where = osp.join(images.folder, image)
        files = [where]
        if maps is not None and not maps:
            problems.append((where, f'no label map; {wanted}'))
        if labels:
            files += [osp.join(labels.folder, file) for file in maps or ()]
        problems += [
            (file, 'a link to a file that is not there')
            for file in files
            if osp.islink(file) and not osp.exists(file)
        ]
        problems += [
            (where, f'{n} label maps {stem} of this image; expected one')
            for stem, n in Counter(map(stem_of, maps or ())).items()
            if n > 1
        ]
    stems = Counter(stem_of(image) for image, _ in pairs)
    problems += [
        (osp.join(images.folder, s), f'{n} images of this stem; expected one')
        for s, n in stems.items()
        if n > 1
    ]
    if not pairs:
        problems.append((images.folder, f'no images {images.suffixes}'))
    return problems


def check_indices(
    indices: int | Sequence[int] | None, num_images: int, folder: str
) -> None:
    """Refuse indices of images that a data set does not hold.

    Args:
        indices: Numbers of images, or how many of the first (below zero: of
            the last) to take; None takes all.
        num_images: How many there are.
        folder: Where they lie, for the error.
    """
    if isinstance(indices, int):
        indices = [indices - (indices > 0)]
    if not all(-num_images <= index < num_images for index in indices or ()):
        raise UserError(f'{folder}: {num_images} images, but indices beyond')


BROKEN = (KeyError, TypeError, ValueError, RecursionError, csv.Error)


def _read_text(path: str) -> str:
    if not osp.isfile(path):
        raise MissingFileError(f'{path}: no such ann_file')
    try:
        # Spreadsheets put a byte-order mark in front of the first column.
        return Path(path).read_text(encoding='utf-8-sig')
    except UnicodeDecodeError as error:
        raise UserError(
            f'{path}: no text in UTF-8; expected images by line, CSV or JSON'
        ) from error


def _checked(name: str, where: str) -> str:
    """Refuse a name that leads out of its folder; spell the others alike."""
    path = PurePosixPath(name)
    if not path.parts or '\0' in name:
        raise UserError(f'{where} is no name of a file')
    if path.is_absolute() or '..' in path.parts:
        raise UserError(f"{where} leads out of its folder; expected no '..'")
    return path.as_posix()


def read_names(path: str) -> list[str]:
    """Read a text file with one image, or its stem, per line.

    Args:
        path: The file; its names are relative to the image folder.

    Returns:
        The names.

    Raises:
        MissingFileError: There is no such file.
        UserError: It is no text, or a name leads out of the image folder.
    """
    return [
        _checked(line.strip(), f'{path}: line {number}')
        for number, line in enumerate(_read_text(path).splitlines(), 1)
        if line.strip()
    ]


def read_index(
    path: str,
) -> tuple[list[tuple[str, list[str]]], dict[str, str]]:
    """Read an index of images and label maps.

    Args:
        path: A CSV file with columns ``image`` and ``annotation``, one row
            per label map, and perhaps ``patient``, or a JSON list of objects
            with ``image`` and ``annotations``.

    Returns:
        The images and their label maps; patients by image, where known.

    Raises:
        MissingFileError: There is no such file.
        UserError: The file is something else, or a name in it leads out of
            its folder.
    """
    text, patients = _read_text(path), {}
    try:
        if path.endswith('.json'):
            pairs = _parse_json(text)
        else:
            groups = defaultdict(list)
            for row in csv.DictReader(io.StringIO(text, newline='')):
                image = PurePosixPath(row['image'] or '').as_posix()
                groups[image] += filter(None, [row['annotation']])
                if row.get('patient'):
                    patients[image] = row['patient']
            pairs = list(groups.items())
    except BROKEN as error:
        raise UserError(
            f"{path}: {error!r}; expected CSV columns 'image', 'annotation' "
            "or a JSON list of objects with 'image', 'annotations'"
        ) from error
    checked = []
    for number, (image, labels) in enumerate(pairs, 1):
        where = f'{path}: a path of image {number}'
        image, *labels = (_checked(name, where) for name in (image, *labels))
        checked.append((image, labels))
    return checked, patients


def _parse_json(text: str) -> list[tuple[str, list[str]]]:
    pairs = [(e['image'], e['annotations']) for e in json.loads(text)]
    for number, (image, labels) in enumerate(pairs, 1):
        named = isinstance(labels, list) and [image, *labels]
        if not named or not all(isinstance(name, str) for name in named):
            raise TypeError(f'image {number} has no path or list of paths')
    return pairs
