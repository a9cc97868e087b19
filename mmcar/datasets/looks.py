"""A look at images and labels, and at what pipelines make of them."""

import copy
import os.path as osp
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from mmcv.transforms import LoadImageFromFile
from mmengine.dataset import BaseDataset

from .image_files import refuse_deep

UNLABELLED = 255
AGAIN = 4  # times; some steps do nothing at half of them
LOOKED_AT, LABELS_LOOKED_AT = 16, 256  # images; check_dataset.py looks at all
LIBRARIES = ('mmcv.', 'mmseg.', 'mmcar.')
SCALED = ('ori_shape', 'scale_factor')
ADVICE = (
    'Use PadAll for Pad and CenterCropAll for CenterCrop; ResizeOriginal lets '
    'predictions be scored at the new size.'
)
#: Makes a context of a step, in which it is tried.
At = Callable[[Any], AbstractContextManager]


def leaves(dataset: Any) -> Iterator[BaseDataset]:
    """The data sets that have files, below those that join others."""
    if isinstance(dataset, BaseDataset):
        yield dataset
    inner = getattr(dataset, 'dataset', None)
    for other in getattr(dataset, 'datasets', [inner] if inner else []):
        yield from leaves(other)


def _spread(number: int, most: int = LOOKED_AT) -> list[int]:
    """Some of so many places, from the first to the last."""
    return np.linspace(0, number - 1, min(number, most)).astype(int).tolist()


def try_steps(
    leaf: BaseDataset, at: At
) -> Iterator[tuple[Any, Mapping, Mapping]]:
    """Each step of a pipeline with what it got and made of the first image.

    A step that acts by chance acts here for certain, so that what it does to
    every other image is seen in the first.
    """
    results = leaf.get_data_info(0)
    for step in leaf.pipeline.transforms:
        before, certain = copy.deepcopy(results), copy.copy(step)
        chance = getattr(step, 'prob', None)
        if isinstance(chance, float) and 0 < chance < 1:
            certain.prob = 1.0
        with at(step):
            results = certain(results)
        if results is None:
            return  # left out
        yield step, before, results


def _labels(results: Mapping) -> dict[str, np.ndarray]:
    keys = (k for k in results.get('seg_fields', ()) if k.startswith('gt_'))
    return {k: results[k] for k in keys if isinstance(results[k], np.ndarray)}


def _size(image: Any) -> tuple[int, ...]:
    return () if image is None else tuple(image.shape[:2])


def step_faults(
    leaf: BaseDataset, learnt: bool, at: At
) -> Iterator[tuple[Any, str, bool]]:
    """Steps that do what they should not, what that is, and if it is sure.

    Labels to learn from have the size of their image. Where images are
    scored, predictions are resized to the size of the file: what a step cuts
    off or adds is stretched. Likely wrong is to pack one of several label
    maps, and to change scored images at random.

    Args:
        leaf: The data set.
        learnt: Whether it is learnt from, else it is scored.
        at: See `try_steps`.
    """
    for step, before, after in try_steps(leaf, at):
        file, image = after.get('img_path'), after.get('img')
        new, old = _size(image), _size(before.get('img'))
        size = new if learnt else tuple(after.get('ori_shape', ()))[:2]
        for key, label in _labels(after).items():
            if size and _size(label) != size:
                text = f'{key} has {_size(label)} pixels after it, not {size}'
                yield step, f'{file}: {text}. {ADVICE}', True
        packed = after.get('data_samples', {'gt_sem_segs'})
        if len(_labels(before)) > 1 and 'gt_sem_segs' not in packed:
            yield step, 'packs one of several label maps.', False
        if learnt or not old or not new:
            continue
        scaled = any(before.get(k) != after.get(k) for k in SCALED)
        known = type(step).__module__.startswith(LIBRARIES)
        if known and new != old and not scaled:
            text = f'predictions of {new} pixels are stretched to {size}'
            yield step, f'{file}: {text}. {ADVICE}', True
        again = (step(copy.deepcopy(before)) or {} for _ in range(AGAIN))
        if not all(np.array_equal(a.get('img'), image) for a in again):
            yield step, 'changes scored images at random.', False


def refuse_clipped(leaf: BaseDataset, at: At) -> None:
    """Refuse images of more than 8 bits for a loader that clips them."""
    for step in leaf.pipeline.transforms:
        if type(step) is LoadImageFromFile and not step.backend_args:
            with at(step):
                for index in _spread(len(leaf)):
                    path = leaf.get_data_info(index)['img_path']
                    refuse_deep(path, LoadImageFromFile.__name__)


def only_background(leaf: BaseDataset) -> str | None:
    """What is wrong if all labels but 0 count as unlabelled, else None.

    Masks of 0 and 255 are the usual reason. Data may be labelled in part,
    and its objects rare: so many images are looked at, and who maps an id to
    the ignored one has said what it means.
    """
    ignored = getattr(leaf, 'ignore_index', UNLABELLED)
    seen: set[int] = set()
    first = leaf.get_data_info(0)
    if ignored in (first.get('label_map') or {}).values():
        return None
    for index in _spread(len(leaf), LABELS_LOOKED_AT):
        sample = (leaf[index] or {}).get('data_samples', {})
        if 'gt_sem_seg' in sample:
            seen |= {*sample.gt_sem_seg.data.unique().tolist()}
        if seen != {0, ignored}:
            return None
    return (
        f'{ignored} counts as unlabelled, and no image looked at, as '
        f'{first["img_path"]}, has another class than 0. If {ignored} is a '
        f'class, set {{{ignored}: 1}}; if not, {{{ignored}: {ignored}}}.'
    )


def files_of(dataset: Any) -> set[str]:
    """The files of the images of a data set that can name them."""
    places = range(len(dataset)) if hasattr(dataset, 'get_data_info') else ()
    found = (dataset.get_data_info(place).get('img_path') for place in places)
    return {osp.realpath(path) for path in found if path is not None}
