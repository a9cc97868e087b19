"""Finding everything that is wrong with a data set before training does."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from mmengine.dataset import BaseDataset

from .image_files import read_image
from .label_files import read_label
from .listing import Problem
from .value_checks import ImageValues, find_bad_values, measure


class SampleReport(NamedTuple):
    """What one image and its label maps turned out to be."""

    problems: list[Problem]
    num_labels: int
    num_empty: int
    values: ImageValues | None


def _describe(path: str, error: Exception) -> Problem:
    return path, str(error).removeprefix(f'{path}: ')


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
    problems, shape, values, maps = [], None, None, []
    try:
        image = read_image(record['img_path'], 'unchanged')
        shape, values = image.shape[:2], measure(record['img_path'], image)
        problems += find_bad_values(values)
    except (ValueError, OSError) as error:
        problems.append(_describe(record['img_path'], error))
    paths = record.get('seg_map_paths') or [record.get('seg_map_path')]
    paths = [path for path in paths if path]
    for path in paths:
        try:
            label = read_label(
                path,
                label_map=record.get('label_map'),
                num_classes=record.get('num_classes'),
                class_flips=record.get('class_flips', ()),
                ignore_index=ignore_index,
                shape=shape,
            )
        except (ValueError, OSError) as error:
            problems.append(_describe(path, error))
            continue
        maps.append(label)
    empty = sum(not _marked(label, ignore_index) for label in maps)
    if paths and empty == len(paths):
        problems.append(
            (record['img_path'], _why_empty(maps, ignore_index, record))
        )
    return SampleReport(problems, len(paths), empty, values)


def _marked(label: np.ndarray, ignore_index: int) -> bool:
    return bool(((label != 0) & (label != ignore_index)).any())


def _why_empty(
    maps: Sequence[np.ndarray], ignore_index: int, record: Mapping
) -> str:
    text = f'all {len(maps)} label maps are empty'
    ignored = any((label == ignore_index).any() for label in maps)
    if ignored and not record.get('label_map'):
        return (
            f'{text}: they hold 0 and {ignore_index}, which means unlabelled. '
            'If it marks a class, give the data set '
            f'label_map={{{ignore_index}: 1}}'
        )
    return f'{text}; expected foreground in at least one'


def check_samples(
    records: Sequence[Mapping], ignore_index: int = 255, workers: int = 4
) -> Iterable[SampleReport]:
    """Check many samples side by side, in order."""
    # Decoding releases the interpreter's lock: threads are enough.
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(
            lambda record: check_sample(record, ignore_index), records
        )


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
    records = [
        {'num_classes': num_classes, **record}
        for record in dataset.filter_data()
    ]
    return records, problems


def check_splits(splits: Mapping[str, Sequence[Mapping]]) -> list[Problem]:
    """Find images and patients that are in more than one place.

    Args:
        splits: Records of each split; two splits with the very same images
            (val and test, in many data sets) count as one.

    Returns:
        The problems.
    """
    problems, distinct = [], {}
    for name, records in splits.items():
        counts = Counter(r['img_path'] for r in records)
        problems += [
            (path, f'listed {count} times in {name}; expected once')
            for path, count in counts.items()
            if count > 1
        ]
        distinct.setdefault(frozenset(counts), name)
    splits = {name: splits[name] for name in distinct.values()}
    images, patients = Counter(), defaultdict(dict)
    for name, records in splits.items():
        images.update({r['img_path'] for r in records})
        for record in records:
            if record.get('patient'):
                patients[record['patient']].setdefault(
                    name, record['img_path']
                )
    problems += [
        (path, f'listed in {count} splits; expected one')
        for path, count in images.items()
        if count > 1
    ]
    problems += [
        (
            next(iter(places.values())),
            f'patient {patient} is in splits {sorted(places)}; expected one',
        )
        for patient, places in patients.items()
        if len(places) > 1
    ]
    return problems
