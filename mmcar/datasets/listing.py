"""Which files of the folders of a data set belong together."""

import os.path as osp
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

import mmengine.fileio as fileio

from ..utils.errors import MissingFileError, UserError

JPEG_SUFFIXES = ('.jpg', '.jpeg')

Problem = tuple[str, str]
"""A file and what is wrong with it."""
Pair = tuple[str, Sequence[str] | None]
"""An image and its label maps, relative to their folders; None: no labels."""


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
        suffixes: What was looked for.
        found: Files that end in one of them, in upper or lower case.
        others: All other files.
    """

    folder: str
    suffixes: tuple[str, ...]
    found: list[str]
    others: list[str]


def list_files(
    folder: str, suffixes: tuple[str, ...], backend_args: dict | None = None
) -> Files:
    """List the files below a folder, in any depth."""
    if not fileio.isdir(folder, backend_args=backend_args):
        raise MissingFileError(
            f'{folder}: no such folder; check data_root and data_prefix'
        )
    files = fileio.list_dir_or_file(
        folder, list_dir=False, recursive=True, backend_args=backend_args
    )
    wanted = tuple(suffix.lower() for suffix in suffixes)
    parts = {True: [], False: []}
    for file in sorted(files):
        parts[file.lower().endswith(wanted)].append(file)
    return Files(folder, suffixes, parts[True], parts[False])


def stem_of(file: str) -> str:
    """The path of a file without its suffix."""
    return osp.splitext(file)[0]


def natural_key(name: str) -> list:
    """Sort key that puts ``a10`` after ``a9``."""
    return [
        int(part) if part.isdecimal() else part
        for part in re.split(r'(\d+)', name)
    ]


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


def match_files(images: Files, labels: Files) -> tuple[list[Pair], list]:
    """Pair images with their label maps.

    Returns:
        All pairs, and the problems of label maps without an image.
    """
    files = labels.found
    if osp.normpath(images.folder) == osp.normpath(labels.folder):
        files = sorted(set(files) - set(images.found))
    groups = group_labels(files, map(stem_of, images.found))
    pairs = [(i, groups.get(stem_of(i), [])) for i in images.found]
    # Files of another kind explain many a missing image.
    unread = group_labels(groups[None], map(stem_of, images.others))
    hints = {
        label: other
        for other in images.others
        for label in unread.get(stem_of(other), ())
    }
    problems = []
    for file in groups[None]:
        what = f'no image of it; expected one in {images.folder}'
        if file in hints:
            what += f', where {hints[file]} is none of {images.suffixes}'
        problems.append((osp.join(labels.folder, file), what))
    return pairs, problems


def find_unpaired(
    pairs: Sequence[Pair], images: Files, labels: Files | None
) -> list[Problem]:
    """What is wrong with the pairs: no label map, or more than one image."""
    problems = []
    unread = labels.others if labels else []
    hints = group_labels(unread, [stem_of(image) for image, _ in pairs])
    for image, maps in pairs:
        where = osp.join(images.folder, image)
        if maps is not None and not maps:
            what = 'no label map; expected at least one'
            if labels is not None and not labels.found:
                what += (
                    f', but {labels.folder} has no file {labels.suffixes}, '
                    'the seg_map_suffix'
                )
            if other := hints.get(stem_of(image)):
                what += f'. {_why_unread(other[0], labels)}'
            problems.append((where, what))
        problems += [
            (where, f'label map {file} is listed twice')
            for file, n in Counter(maps or ()).items()
            if n > 1
        ]
        problems += [
            (where, f'{n} label maps {stem} of this image; expected one')
            for stem, n in Counter(map(stem_of, set(maps or ()))).items()
            if n > 1
        ]
    stems = Counter(stem_of(image) for image, _ in pairs)
    problems += [
        (osp.join(images.folder, s), f'{n} images of this stem; expected one')
        for s, n in stems.items()
        if n > 1
    ]
    if not pairs:
        what = f'no images {images.suffixes}'
        if images.others:
            what += f'; it has {images.others[0]}, which is none of them'
        problems.append((images.folder, what))
    return problems


def _why_unread(file: str, labels: Files) -> str:
    path = osp.join(labels.folder, file)
    if file.lower().endswith(JPEG_SUFFIXES):
        return (
            f'{path} is a JPEG, which changes ids when it compresses: save '
            'label maps as PNG, from their source'
        )
    return f'{path} is none of {labels.suffixes}'
