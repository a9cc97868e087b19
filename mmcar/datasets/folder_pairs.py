"""Which image and label maps of a folder belong together, and whose they are.

Arrangements are told from names alone; no file is read but indices.
"""

import os.path as osp
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ..utils.errors import UserError
from ..utils.files import IMAGE_SUFFIXES
from .label_files import LABEL_SUFFIXES
from .listing import Problem, group_labels, list_files, read_index, stem_of

SPLITS = dict(train='train', training='train', test='test', testing='test')
SPLITS |= dict(val='val', valid='val', validation='val')
IMAGES = {'image', 'img', 'scan', 'photo', 'picture', 'raw', 'input', 'slice'}
IMAGES |= {f'{name}s' for name in IMAGES}
# Words in the names of label maps, or of folders of them.
LABELS = re.compile(
    r'mask|label|annot|seg(?!y)|truth|(?<![a-z])gt(?![a-z])|reader|rater|'
    r'expert|observer',
    re.IGNORECASE,
)
MARKED = re.compile(rf'[_-]({LABELS.pattern}).*$', re.IGNORECASE)
# The first number of a name that has another one behind it: p01_slice3.
PATIENT = re.compile(r'^.*?\d+(?=[_-].*\d)')
FEWEST_GROUPS = 5  # to tell patients by, and to make splits of
EXPECTED = (
    'expected images/ beside annotations/, masks/ or a folder of masks per '
    'annotator, or a folder per image with image.png and its masks, or an '
    'index (train.csv) with columns image and annotation'
)


class Entry(NamedTuple):
    """An image, its label maps, and where it belongs.

    Attributes:
        image: Path relative to the folder, as all others.
        labels: Label maps, one per annotator.
        split: 'train', 'val' or 'test', None where nothing tells.
        patient: Whose image it is, None where nothing tells.
    """

    image: str
    labels: Sequence[str]
    split: str | None = None
    patient: str | None = None


class Pairs(NamedTuple):
    """What belongs together; problems are sure to break a training."""

    entries: list[Entry]
    problems: list[Problem]
    doubts: list[Problem]


def pair_folder(root: Path) -> Pairs:
    """Tell images, label maps, splits and patients of a folder."""
    found = Pairs([], [], [])
    _read_indices(root, found)
    if not found.entries:
        _pair_by_names(root, found)
    if not found.entries:
        found.problems.insert(0, (str(root), f'no images found; {EXPECTED}'))
    found.problems.extend(
        (osp.join(root, entry.image), 'no label map of this image')
        for entry in found.entries
        if not entry.labels
    )
    return found


def _read_indices(root: Path, found: Pairs) -> None:
    """Take what indices at the top of the folder list."""

    def place(folder: str, name: str) -> str:
        return f'{folder}/{name}' if (root / folder / name).exists() else name

    for path in sorted([*root.glob('*.csv'), *root.glob('*.json')]):
        try:
            pairs, patients = read_index(str(path))
        except UserError as error:
            text = str(error).removeprefix(f'{path}: ')
            found.doubts.append((str(path), f'not used as an index: {text}'))
            continue
        split = SPLITS.get(path.stem.lower())
        for image, names in pairs:
            labels = [place('annotations', name) for name in names]
            where, patient = place('images', image), patients.get(image)
            found.entries.append(Entry(where, labels, split, patient))


def _pair_by_names(root: Path, found: Pairs) -> None:
    """Pair the files below the folder by their names."""
    suffixes = (*IMAGE_SUFFIXES, *LABEL_SUFFIXES)
    # Of each split: its files, by their paths without the split's folder.
    splits: dict[str, dict[str, str]] = defaultdict(dict)
    others = []
    for file in list_files(str(root), ('',)).found:
        *folders, name = PurePosixPath(file).parts
        if not name.lower().endswith(suffixes):
            others.append(osp.join(root, file))
        elif not any(f.startswith(('.', '__')) for f in folders):
            split = next((f for f in folders if f.lower() in SPLITS), '')
            rest = [f for f in folders if f != split]
            splits[split.lower()]['/'.join([*rest, name])] = file
    if others:
        text = f'no image by its name; left out, one of {len(others)} files'
        found.doubts.append((others[0], text))
    keys = []
    for split, files in splits.items():
        images, labels, orphans = _paired(files)
        plain = {_plain(key): file for key, file in files.items()}
        if not any(labels.values()) and len(plain) == len(files):
            files, (images, labels, orphans) = plain, _paired(plain)
        for key, image in images.items():
            mine = [files[label] for label in labels[key]]
            found.entries.append(Entry(files[image], mine, SPLITS.get(split)))
            keys.append(key)
        what = 'a label map of no image, by its name'
        found.problems.extend((str(root / files[o]), what) for o in orphans)
        if images and 2 * len(orphans) > len(files):
            found.problems.insert(0, (str(root), EXPECTED))
    for i, patient in enumerate(_patients(keys)):
        found.entries[i] = found.entries[i]._replace(patient=patient)


def _plain(file: str) -> str:
    """A path whose name begins alike for images and masks: 1, 1_mask."""
    *folders, name = file.split('/')
    stem, suffix = osp.splitext(name)
    words = [w for w in re.split('[_-]', stem) if w.lower() not in IMAGES]
    words.sort(key=lambda word: bool(LABELS.match(word)))
    return '/'.join([*folders, '_'.join(words) + suffix])


def _paired(files: Collection[str]) -> tuple:
    """Images, their label maps, and label maps of none."""
    images = _images_of(files)
    return images, *_labels_of(images, {*files} - {*images.values()})


def _images_of(files: Iterable[str]) -> dict[str, str]:
    """The images among files, by what names them and their label maps."""
    paths = {file: PurePosixPath(file) for file in files}
    images: dict[str, str] = {}
    for file, path in paths.items():
        folders = [f for f in path.parts[:-1] if f.lower() not in IMAGES]
        if len(folders) < len(path.parts) - 1:
            key = '/'.join([*folders, path.stem])
            # A second image of a name has no label maps of its own.
            images[file if key in images else key] = file
    if images:
        return images
    known = [
        f for f, p in paths.items() if {p.stem} & {*IMAGES, p.parent.name}
    ]
    named = known or [file for file in paths if not LABELS.search(file)]
    folders = Counter(paths[file].parent for file in named)
    if max(folders.values(), default=2) == 1:
        return {paths[file].parent.as_posix(): file for file in named}
    return {stem_of(file): file for file in named}


Owners = tuple[dict[str, list[str]], list[str]]


def _labels_of(images: dict[str, str], files: set[str]) -> Owners:
    """Label maps by the key of their image, and those of none.

    A name without the folders that speak of labels is that of its image. A
    folder above it may be the annotator's; that is so if more images find
    their label maps by it.
    """
    parts = {part for key in images for part in key.split('/')}
    names = {key.rpartition('/')[2] for key in images}
    endings = _endings(names, files)
    found = []
    for dropped in (0, 1):
        reduced = defaultdict(list)
        for file in sorted(files):
            *folders, name = PurePosixPath(file).parts
            folders = [
                f for f in folders if f in parts or not LABELS.search(f)
            ]
            stem, suffix = osp.splitext(name)
            if stem not in parts and MARKED.sub('', stem) in parts:
                name = MARKED.sub('', stem) + suffix
            elif stem not in parts and _ending(stem, names) in endings:
                name = stem.removesuffix(_ending(stem, names)) + suffix
            reduced['/'.join([*folders[dropped:], name])].append(file)
        groups = group_labels(reduced, images)
        owned = {
            key: [
                file for name in groups.get(key, ()) for file in reduced[name]
            ]
            for key in (*images, None)
        }
        orphans = owned.pop(None)
        found.append((owned, orphans))
    return min(found, key=lambda f: len(f[1]) + [*f[0].values()].count([]))


def _ending(stem: str, names: Collection[str]) -> str:
    """What stands behind an image's name, if anything: _anna of p1_anna."""
    ends = [match.start() for match in re.finditer('[_-]', stem)]
    found = (stem[end:] for end in reversed(ends) if stem[:end] in names)
    return next(found, '')


def _endings(names: Collection[str], files: Iterable[str]) -> set[str]:
    """Endings of label maps that many images have: their annotators."""
    stems = {PurePosixPath(file).stem for file in files} - {*names}
    counts = Counter(_ending(stem, names) for stem in stems)
    return {end for end, n in counts.items() if end and 5 * n > len(names)}


def _patients(keys: Sequence[str]) -> list[str | None]:
    """Whose each image is, by its folder or by the number it begins with."""
    by_folder = [key.rpartition('/')[0].split('/')[0] for key in keys]
    by_name = [PATIENT.match(key) for key in keys]
    for names in (by_folder, [match and match.group() for match in by_name]):
        if all(names) and FEWEST_GROUPS <= len({*names}) < len(keys):
            return [*names]
    return [None] * len(keys)


def with_splits(entries: Sequence[Entry]) -> list[Entry]:
    """Give every image a split, all of a patient the same.

    Splits that are there stay. Without any, 70 % train, 15 % val, 15 % test;
    a missing one is taken from the others. The same on every machine: a hash
    orders patients.

    Raises:
        UserError: There are too few patients or images.
    """
    found = [e._replace(split=e.split or 'train') for e in entries]
    splits = {e.split for e in found}
    if 'test' not in splits:
        val = {e.patient or e.image for e in found if e.split == 'val'}
        large = len(val) >= FEWEST_GROUPS
        source, share = ('val', 0.5) if large else ('train', 0.15)
        found = _take(found, source, 'test', share)
    return found if 'val' in splits else _take(found, 'train', 'val', 0.18)


def _take(
    entries: list[Entry], source: str, target: str, share: float
) -> list[Entry]:
    """Move a share of a split's patients to another."""
    groups = Counter(
        e.patient or e.image for e in entries if e.split == source
    )
    if len(groups) < FEWEST_GROUPS:
        raise UserError(
            f'{source}: {len(groups)} patients (or images) are too few to '
            f'take {target} from; expected {FEWEST_GROUPS} or more'
        )
    moved, left = set(), share * groups.total()
    for group in sorted(groups, key=lambda g: sha256(g.encode()).digest()):
        # Two at least: calibration fits on one half, reports on the other.
        if left > 0 or len(moved) < 2:
            moved.add(group)
            left -= groups[group]
    return [
        e._replace(split=target)
        if e.split == source and (e.patient or e.image) in moved
        else e
        for e in entries
    ]
