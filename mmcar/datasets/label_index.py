"""Which label maps belong to which image: by file names, or by an index."""

import csv
import os.path as osp
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePosixPath

import mmengine

from ..utils.errors import MissingFileError, UserError


def natural_key(name: str) -> list:
    """Sort key that puts ``a10`` after ``a9``."""
    return [
        int(part) if part.isdecimal() else part
        for part in re.split(r'(\d+)', name)
    ]


def group_annotations(files: Iterable[str]) -> dict[str, list[str]]:
    """Sort label files by the image they belong to.

    Args:
        files: Paths relative to the annotation folder, in any mixture of
            ``<stem>/<annotator>.png``, ``<stem>_l<number>.png`` and, for a
            single annotator, ``<stem>.png``.

    Returns:
        For each stem (with its folders, if any) the files in natural order.
    """
    groups = defaultdict(list)
    for file in sorted(files, key=natural_key):
        path = PurePosixPath(file)
        stem = path.with_suffix('').as_posix()
        groups[path.parent.as_posix()].append(file)
        groups[re.sub(r'_l\d+$', '', stem)].append(file)
    return groups


def read_index(path: str) -> list[tuple[str, list[str]]]:
    """Read an index of images and label maps.

    Args:
        path: A CSV file with columns ``image`` and ``annotation``, one row
            per label map, or a JSON list of objects with ``image`` and
            ``annotations``.

    Returns:
        The images and their label maps.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is something else.
    """
    if not osp.isfile(path):
        raise MissingFileError(f'{path}: no such ann_file')
    try:
        if path.endswith('.json'):
            entries = mmengine.load(path)
            pairs = [(e['image'], e['annotations']) for e in entries]
            for image, labels in pairs:
                if not isinstance(labels, list):
                    raise TypeError(f'{labels!r} of {image} is no list')
            return pairs
        groups = defaultdict(list)
        with open(path, newline='') as file:
            for row in csv.DictReader(file):
                groups[row['image']] += filter(None, [row['annotation']])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{path}: {error!r}; expected CSV columns 'image' and "
            "'annotation', or a JSON list of objects with 'image' and "
            "'annotations'"
        ) from error
    return list(groups.items())
