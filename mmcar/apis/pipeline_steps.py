"""Every step of the pipelines, tried on its own."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from mmengine.config import Config
from mmengine.dataset import BaseDataset
from mmseg.models import SegDataPreProcessor
from torch import nn

from ..utils.errors import UserError
from .config_errors import naming_keys
from .config_parts import parts_of

#: What makes a key of the results that a step may ask for in vain.
MADE_BY = {
    'img': 'put LoadCheckedImage before it',
    'gt_seg_map': 'put LoadMultiAnnotations before it',
    'seg_map_path': 'for the label maps of several annotators, use '
    'LoadMultiAnnotations',
}
#: Packages whose transforms say by ``scale_factor`` that they have resized.
LIBRARIES = ('mmcv.', 'mmseg.', 'mmcar.')
FIRST_LABEL = 'gt_seg_map'  # the one that MMSeg's own steps know
UNLABELLED = 255
AGAIN = 4  # times; some steps do nothing at half of them
SIZES_LOOKED_AT = 16  # images whose sizes are compared
LABELS_LOOKED_AT = 256  # images, if none before has an object
Size: TypeAlias = tuple[int, ...]


def check_steps(cfg: Config, split: str, dataset: Any) -> None:
    """Refuse a step that fails, or that treats image and labels apart.

    A step that acts by chance acts here for certain, so that what it does to
    every other image is seen in the first.

    Args:
        cfg: The config, to name its keys.
        split: ``train``, ``val`` or ``test``.
        dataset: The data set of its loader.
    """
    check = _check_learnt if split == 'train' else _check_scored
    for path, leaf in _leaves(cfg, split, dataset):
        results = leaf.get_data_info(0)
        for index, step in enumerate(leaf.pipeline.transforms):
            place = f'{path}.pipeline[{index}] ({type(step).__name__})'
            before = copy.deepcopy(results)
            with naming_keys(cfg, f'{split}_dataloader'):
                try:
                    results = _certain(step)(results)
                except KeyError as error:
                    _refuse_missing(place, error, before)
                    raise
            if results is None:
                break  # left out
            if 'inputs' in results:
                _check_packed_labels(place, before, results)
                break
            check(place, step, before, results)
            if split != 'train':
                _refuse_random(place, step, before, results)


def _leaves(
    cfg: Config, split: str, dataset: Any
) -> Iterator[tuple[str, BaseDataset]]:
    """The data sets that have files, below those that join others."""
    paths = (
        part.path
        for part in parts_of(cfg)
        if part.section == f'{split}_dataloader' and part.is_a(BaseDataset)
    )
    # Both go from the first to the last.
    return zip(paths, _with_files(dataset), strict=False)


def _with_files(dataset: Any) -> Iterator[BaseDataset]:
    if isinstance(dataset, BaseDataset):
        yield dataset
    for inner in getattr(dataset, 'datasets', ()):
        yield from _with_files(inner)
    if (inner := getattr(dataset, 'dataset', None)) is not None:
        yield from _with_files(inner)


def _refuse_missing(place: str, error: KeyError, known: Mapping) -> None:
    """Say which key a step misses, if it is one of the results."""
    key = error.args[0] if error.args else None
    if isinstance(key, str) and key not in known:
        advice = MADE_BY.get(key, 'change the order of the steps')
        raise UserError(
            f'{place} needs {key!r}, which no step before it makes: {advice}.'
        ) from error


def _certain(step: Any) -> Any:
    """A step that acts with some probability, made to act always."""
    chance = getattr(step, 'prob', None)
    if not isinstance(chance, (int, float)) or not 0 < chance < 1:
        return step
    step = copy.copy(step)
    step.prob = 1.0
    return step


def _label_sizes(results: Mapping) -> dict[str, Size]:
    return {
        key: tuple(results[key].shape[:2])
        for key in results.get('seg_fields', ())
        if key.startswith('gt_') and isinstance(results[key], np.ndarray)
    }


def _size(image: Any) -> Size | None:
    return None if image is None else tuple(image.shape[:2])


def _check_learnt(
    place: str, step: Any, before: Mapping, after: Mapping
) -> None:
    """Labels that a model learns from have the size of their image."""
    size = _size(after.get('img'))
    for key, found in _label_sizes(after).items():
        if size is not None and found != size:
            raise UserError(
                f'{place} leaves {_words(size)} pixels of the image '
                f'{after.get("img_path")}, but {_words(found)} of {key}: it '
                'does not treat all label maps as the image. Use PadAll in '
                'place of Pad, CenterCropAll for crops.'
            )


def _check_scored(
    place: str, step: Any, before: Mapping, after: Mapping
) -> None:
    """Labels that predictions are compared with keep to ``ori_shape``.

    Predictions are resized to it: whatever a pipeline resizes is undone, but
    not what it cuts off or adds.
    """
    expected = tuple(after.get('ori_shape') or ())[:2]
    advice = (
        'CenterCropAll and ResizeOriginal let predictions be scored at the '
        'new size; padding is the work of model.data_preprocessor.test_cfg.'
    )
    for key, found in _label_sizes(after).items():
        if expected and found != expected:
            raise UserError(
                f'{place} leaves {_words(found)} pixels of {key} of '
                f'{after.get("img_path")}, but predictions are scored at the '
                f'{_words(expected)} of its file. {advice}'
            )
    sizes = [_size(results.get('img')) for results in (before, after)]
    same = ('ori_shape', 'scale_factor')
    unscaled = all(before.get(key) == after.get(key) for key in same)
    known = type(step).__module__.startswith(LIBRARIES)
    if None not in sizes and sizes[0] != sizes[1] and unscaled and known:
        raise UserError(
            f'{place} makes an image of {_words(sizes[1])} of the '
            f'{_words(sizes[0])} pixels of {after.get("img_path")}, and its '
            f'prediction would be stretched to {_words(expected)}. {advice}'
        )


def _check_packed_labels(place: str, before: Mapping, packed: Mapping) -> None:
    """Refuse to pack one label map where those of all annotators are there."""
    annotators = [key for key in _label_sizes(before) if key != FIRST_LABEL]
    if annotators and 'gt_sem_segs' not in packed['data_samples']:
        raise UserError(
            f'{place} packs one label map and drops those of '
            f'{len(annotators)} annotators that a step before it has loaded: '
            'use PackStochasticInputs, or draw one by '
            'LoadMultiAnnotations(draw=True).'
        )


def _refuse_random(
    place: str, step: Any, before: Mapping, after: Mapping
) -> None:
    """Refuse a step that makes another image of the same one each time."""
    for _ in range(AGAIN if before.get('img') is not None else 0):
        again = step(copy.deepcopy(before))
        if again is None or not np.array_equal(again['img'], after['img']):
            raise UserError(
                f'{place} changes images at random, but they are to be '
                'scored as they are: remove it.'
            )


def _words(size: Any) -> str:
    return 'x'.join(map(str, size))


def check_batches(split: str, loader: Any, model: nn.Module) -> None:
    """Refuse batches of images that differ in size, where they are scored.

    Args:
        split: ``val`` or ``test``.
        loader: Its loader.
        model: Whose preprocessor stacks them; in training, it pads.
    """
    preprocessor = getattr(model, 'data_preprocessor', None)
    size = loader.batch_size or 1
    if size == 1 or not isinstance(preprocessor, SegDataPreProcessor):
        return
    found: dict[Size, Any] = {}
    for index in _spread(len(loader.dataset), SIZES_LOOKED_AT):
        item = loader.dataset[index]
        image = tuple(item['inputs'].shape[-2:])
        found.setdefault(image, item['data_samples'].get('img_path', index))
    if len(found) > 1:
        (one, first), (other, second), *_ = found.items()
        raise UserError(
            f'{split}_dataloader.batch_size={size}, but images differ in '
            f'size, {first} has {_words(one)} pixels and {second} '
            f'{_words(other)}: only images of one size are scored together. '
            'Set batch_size=1.'
        )


def check_objects(cfg: Config, dataset: Any) -> None:
    """Refuse labels in which all but background counts as unlabelled.

    Masks of 0 and 255 are the usual reason. Data may be labelled in part,
    and its objects rare: so many images are looked at, and who maps an id to
    the ignored one has said what it means.

    Args:
        cfg: The config, to name its keys.
        dataset: Of training.
    """
    for path, leaf in _leaves(cfg, 'train', dataset):
        ignored = getattr(leaf, 'ignore_index', UNLABELLED)
        found: set[int] = set()
        for index in _spread(len(leaf), LABELS_LOOKED_AT):
            labels, new_ids = _load_labels(leaf, index)
            found.update(*(np.unique(label).tolist() for label in labels))
            meant = ignored in (new_ids or {}).values()
            if meant or ignored not in found or found - {0, ignored}:
                break
        else:
            raise UserError(
                f'{path}.label_map: {ignored} counts as unlabelled, and of '
                f'{min(len(leaf), LABELS_LOOKED_AT)} images looked at, as '
                f'{leaf.get_data_info(0)["img_path"]}, none has a pixel of '
                f'another class than 0. If {ignored} is a class, set '
                f'label_map={{{ignored}: 1}}; if not, say so by '
                f'label_map={{{ignored}: {ignored}}}.'
            )


def _load_labels(
    leaf: BaseDataset, index: int
) -> tuple[list[np.ndarray], Mapping | None]:
    """An image's labels as they are loaded, and the new ids of others."""
    results = leaf.get_data_info(index)
    new_ids = results.get('label_map')
    for step in leaf.pipeline.transforms:
        results = step(results)
        if results is None or 'inputs' in results:
            break
        if keys := _label_sizes(results):
            return [results[key] for key in keys], new_ids
    return [], new_ids


def _spread(number: int, most: int) -> list[int]:
    """Some of so many places, from the first to the last."""
    places = np.linspace(0, number - 1, min(number, most))
    return places.astype(int).tolist()
