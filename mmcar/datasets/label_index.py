"""Files that name the images of a data set, and their label maps.

Errors say where in the file they are, not what stands there: it may be any
other file, given by mistake.
"""

import csv
import io
import json
import os.path as osp
from collections import defaultdict
from pathlib import Path, PurePosixPath

from ..utils.errors import MissingFileError, UserError

BROKEN = (KeyError, TypeError, ValueError, RecursionError, csv.Error)


def _read_text(path: str) -> str:
    if not osp.isfile(path):
        raise MissingFileError(f'{path}: no such ann_file')
    try:
        # Spreadsheets put a byte-order mark in front of the first column.
        return Path(path).read_text(encoding='utf-8-sig')
    except UnicodeDecodeError as error:
        raise UserError(
            f'{path}: no text in UTF-8; expected an ann_file: images by line, '
            'CSV or JSON'
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


def read_index(path: str) -> list[tuple[str, list[str]]]:
    """Read an index of images and label maps.

    Args:
        path: A CSV file with columns ``image`` and ``annotation``, one row
            per label map, or a JSON list of objects with ``image`` and
            ``annotations``.

    Returns:
        The images and their label maps.

    Raises:
        MissingFileError: There is no such file.
        UserError: The file is something else, or a name in it leads out of
            its folder.
    """
    text = _read_text(path)
    parse = _parse_json if path.endswith('.json') else _parse_csv
    try:
        pairs = parse(text)
    except BROKEN as error:
        raise UserError(
            f"{path}: {error!r}; expected CSV columns 'image' and "
            "'annotation', or a JSON list of objects with 'image' and "
            "'annotations'"
        ) from error
    checked = []
    for number, (image, labels) in enumerate(pairs, 1):
        names = [
            _checked(name, f'{path}: a path of image {number}')
            for name in (image, *labels)
        ]
        checked.append((names[0], names[1:]))
    return checked


def _parse_json(text: str) -> list[tuple[str, list[str]]]:
    pairs = [(e['image'], e['annotations']) for e in json.loads(text)]
    for number, (image, labels) in enumerate(pairs, 1):
        named = isinstance(labels, list) and [image, *labels]
        if not named or not all(isinstance(name, str) for name in named):
            raise TypeError(f'image {number} has no path or list of paths')
    return pairs


def _parse_csv(text: str) -> list[tuple[str, list[str]]]:
    groups = defaultdict(list)
    for row in csv.DictReader(io.StringIO(text, newline='')):
        groups[row['image'] or ''] += filter(None, [row['annotation']])
    return list(groups.items())


def read_patients(path: str) -> dict[str, str]:
    """Whose each image is, where a CSV index has a column ``patient``.

    Args:
        path: A file that `read_index` reads.

    Returns:
        Patients by the names of the images; none of other files.
    """
    if not path.endswith('.csv'):
        return {}
    rows = csv.DictReader(io.StringIO(_read_text(path), newline=''))
    return {
        PurePosixPath(row['image'] or '').as_posix(): row['patient']
        for row in rows
        if row.get('patient')
    }
