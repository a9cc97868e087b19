"""Files that name the images of a data set, and their label maps."""

import csv
import os.path as osp
from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePosixPath

import mmengine

from ..utils.errors import MissingFileError, UserError
from ..utils.files import inside


def _check_names(path: str, names: Iterable[str]) -> list[str]:
    """Refuse names that lead out of the folder; spell the others alike."""
    checked = []
    for name in names:
        try:
            inside('its folder', name)
        except UserError as error:
            raise UserError(f'{path}: {error}') from error
        if not PurePosixPath(name).parts:
            raise UserError(f'{path}: {name!r} is no name of a file')
        checked.append(PurePosixPath(name).as_posix())
    return checked


def _need_file(path: str) -> None:
    if not osp.isfile(path):
        raise MissingFileError(f'{path}: no such ann_file')


def read_names(path: str) -> list[str]:
    """Read a text file with one image, or its stem, per line.

    Args:
        path: The file; its names are relative to the image folder.

    Returns:
        The names.

    Raises:
        MissingFileError: There is no such file.
        UserError: A name leads out of the image folder.
    """
    _need_file(path)
    lines = mmengine.list_from_file(path, encoding='utf-8-sig')
    return _check_names(path, filter(None, map(str.strip, lines)))


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
    _need_file(path)
    read = _read_json if path.endswith('.json') else _read_csv
    try:
        pairs = read(path)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{path}: {error!r}; expected CSV columns 'image' and "
            "'annotation', or a JSON list of objects with 'image' and "
            "'annotations'"
        ) from error
    return [
        (*_check_names(path, [image]), _check_names(path, labels))
        for image, labels in pairs
    ]


def _read_json(path: str) -> list[tuple[str, list[str]]]:
    pairs = [(e['image'], e['annotations']) for e in mmengine.load(path)]
    for image, labels in pairs:
        if not isinstance(labels, list):
            raise TypeError(f'{labels!r} of {image} is no list')
        for name in (image, *labels):
            if not isinstance(name, str):
                raise TypeError(f'{name!r} is no path')
    return pairs


def _read_csv(path: str) -> list[tuple[str, list[str]]]:
    groups = defaultdict(list)
    # Spreadsheets put a byte-order mark in front of the first column.
    with open(path, newline='', encoding='utf-8-sig') as file:
        for row in csv.DictReader(file):
            groups[row['image']] += filter(None, [row['annotation']])
    return list(groups.items())
