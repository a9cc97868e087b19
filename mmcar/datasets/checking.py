"""Finding everything that is wrong with a data set before training does."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from mmengine.dataset import BaseDataset

from .image_files import read_image
from .label_files import reader_of
from .listing import Problem

# Share of values at an image's maximum from which it counts as clipped.
SATURATED = 0.5
# Factor between the span of an image and the usual one that is odd.
ODD_SPAN = 16


class ImageValues(NamedTuple):
    """What the values of an image are like.

    Attributes:
        path: The file.
        dtype: Type of the values, such as 'uint16'.
        channels: Their number.
        low: Smallest value.
        high: Largest value.
        at_high: Share of values that are the largest.
    """

    path: str
    dtype: str
    channels: int
    low: float
    high: float
    at_high: float


def measure(path: str, image: np.ndarray) -> ImageValues:
    """Take the measures of an image (H, W) or (H, W, C)."""
    low, high = float(image.min()), float(image.max())
    channels = 1 if image.ndim == 2 else image.shape[2]
    at_high = float((image == image.max()).mean())
    return ImageValues(path, image.dtype.name, channels, low, high, at_high)


def find_bad_values(values: ImageValues) -> list[Problem]:
    """Flag an image that shows nothing, or was clipped."""
    if values.low == values.high:
        what = f'all values are {values.high:g}; expected an image'
    elif values.at_high > SATURATED:
        what = (
            f'saturated: {values.at_high:.0%} of the values are the largest, '
            f'{values.high:g}; expected an image that was not clipped'
        )
    else:
        return []
    return [(values.path, what)]


def find_odd_values(images: Sequence[ImageValues]) -> list[Problem]:
    """Flag images that differ from the others of their split.

    Args:
        images: Of one split.

    Returns:
        The problems: another type than most images; for images of more than
        8 bits also a much smaller or larger span of values (of 8-bit images,
        dark ones are common).
    """
    if not images:
        return []
    (usual, _), *_ = Counter(v.dtype for v in images).most_common()
    spans = {
        v.path: v.high - v.low
        for v in images
        if v.dtype == usual != 'uint8' and v.low < v.high
    }
    middle = float(np.median([*spans.values()] or [0]))
    problems = []
    for v in images:
        span = spans.get(v.path, middle)
        if v.dtype != usual:
            what = f'values of type {v.dtype}, where most have {usual}'
            problems.append((v.path, f'{what}; expected one type'))
        elif not middle / ODD_SPAN <= span <= middle * ODD_SPAN:
            what = f'values from {v.low:g} to {v.high:g}, where others span'
            what = f'{what} about {middle:g}; expected a similar range'
            problems.append((v.path, what))
    return problems


def summarise(images: Sequence[ImageValues]) -> str:
    """Types and range of the images of a split, in a line."""
    if not images:
        return 'no readable images'
    kinds = Counter((v.dtype, v.channels) for v in images).most_common()
    low, high = min(v.low for v in images), max(v.high for v in images)
    text = ', '.join(f'{n} of {c} x {dtype}' for (dtype, c), n in kinds)
    return f'channels x type: {text}; values from {low:g} to {high:g}'


class SampleReport(NamedTuple):
    """What one image and its label maps turned out to be."""

    problems: list[Problem]
    num_labels: int
    num_empty: int
    values: ImageValues | None


def _describe(path: str, error: Exception) -> Problem:
    return path, str(error).removeprefix(f'{path}: ')


def read_or_tell(
    read: Callable[[str], np.ndarray], path: str, problems: list[Problem]
) -> np.ndarray | None:
    """Read a file; one that cannot be read is added to the problems."""
    try:
        return read(path)
    except (ValueError, OSError) as error:
        problems.append(_describe(path, error))
        return None


read_deep = partial(read_image, color_type='unchanged')


def check_sample(record: Mapping, ignore_index: int = 255) -> SampleReport:
    """Read an image and its label maps, and say what is wrong with them.

    Args:
        record: An entry of a data set's list.
        ignore_index: Label of unlabelled pixels.

    Returns:
        The problems. A label map without foreground (all of it class 0 or
        ignored) is counted; it is a problem only if no annotator of the
        image marked anything.
    """
    problems: list[Problem] = []
    values, image_path = None, record['img_path']
    image = read_or_tell(read_deep, image_path, problems)
    if image is not None:
        values = measure(image_path, image)
        problems += find_bad_values(values)
    shape = None if image is None else image.shape[:2]
    read = reader_of(record, ignore_index=ignore_index, shape=shape)
    paths = record.get('seg_map_paths') or [record.get('seg_map_path')]
    paths = [path for path in paths if path]
    labels = [read_or_tell(read, path, problems) for path in paths]
    found = [{*np.unique(x).tolist()} for x in labels if x is not None]
    empty = sum(ids <= {0, ignore_index} for ids in found)
    if paths and empty == len(paths):
        text = f'all {empty} label maps are empty; expected foreground in one'
        if ignore_index in set().union(*found) and not record['label_map']:
            text += (
                f'. They hold {ignore_index}, which means unlabelled; if it '
                f'marks a class, set label_map={{{ignore_index}: 1}}'
            )
        problems.append((image_path, text))
    return SampleReport(problems, len(paths), empty, values)


def check_samples(
    records: Sequence[Mapping], ignore_index: int = 255
) -> Iterable[SampleReport]:
    """Check many samples side by side, in order."""
    # Decoding releases the interpreter's lock: threads are enough.
    check = partial(check_sample, ignore_index=ignore_index)
    with ThreadPoolExecutor(4) as pool:
        yield from pool.map(check, records)


def list_records(dataset: BaseDataset) -> tuple[list[dict], list[Problem]]:
    """The images of a data set that was built with ``lazy_init``.

    Args:
        dataset: Any MMSeg data set.

    Returns:
        Its records and the problems of its folders and index files.
    """
    try:
        if hasattr(dataset, 'scan'):
            records, problems = dataset.scan()
        else:
            records, problems = dataset.load_data_list(), []
    except (ValueError, OSError, AssertionError) as error:
        folder = dataset.data_prefix.get('img_path') or dataset.data_root
        return [], [_describe(str(folder), error)]
    dataset.data_list = records
    num_classes = len(dataset.metainfo.get('classes') or ()) or None
    defaults = {'num_classes': num_classes, 'label_map': None}
    return [{**defaults, **r} for r in dataset.filter_data()], problems


def check_splits(splits: Mapping[str, Sequence[Mapping]]) -> list[Problem]:
    """Find images and patients that are in more than one place.

    Args:
        splits: Records of each split; two splits with the very same images
            (val and test, in many data sets) count as one.

    Returns:
        The problems.
    """
    problems: list[Problem] = []
    distinct: dict[frozenset, str] = {}
    # Of each image and patient: a file in each split that has it.
    places: dict[str, dict[str, str]] = defaultdict(dict)
    for name, records in splits.items():
        counts = Counter(record['img_path'] for record in records)
        problems += [
            (path, f'listed {count} times in {name}; expected once')
            for path, count in counts.items()
            if count > 1
        ]
        if distinct.setdefault(frozenset(counts), name) != name:
            continue
        for record in records:
            path, patient = record['img_path'], record.get('patient')
            places[path][name] = path
            if patient:
                places[f'patient {patient}'].setdefault(name, path)
    for key, files in places.items():
        if len(files) > 1:
            what = f'{key} is in splits {sorted(files)}; expected one'
            problems.append((next(iter(files.values())), what))
    return problems
