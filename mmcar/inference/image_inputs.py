"""Images in every form that people have them, on the way into a model."""

import copy
import glob
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np
import torch
from mmcv.transforms import Compose
from mmengine.config import Config
from mmseg.registry import DATASETS

from ..datasets import Cityscapes24Dataset, MultiAnnotatorDataset
from ..datasets.image_files import (
    IMAGE_SUFFIXES,
    input_image,
    refuse_deep,
)
from ..datasets.listing import list_files, natural_key
from ..datasets.transforms.intensity import RAW_DTYPE
from ..structures import sample_key_below
from ..utils.errors import MissingFileError, UserError
from .model_loading import tested_dataset

STOCK_LOADER, OWN_LOADER = 'LoadImageFromFile', 'LoadCheckedImage'
# What needs labels, which images to predict do not have.
LABEL_TRANSFORMS = (
    'LoadAnnotations',
    'LoadMultiAnnotations',
    'LoadDepthAnnotation',
    'RandomClassFlips',
    'LesionCenteredCrop',
)

# Data sets that give their images a `sample_key`.
NAMING_DATASETS = (MultiAnnotatorDataset, Cityscapes24Dataset)

OneInput = str | Path | np.ndarray
Inputs = OneInput | Sequence[OneInput]


class ImageInput(NamedTuple):
    """One image to predict.

    Attributes:
        name: Relative name of the files that are written for it.
        path: Its file; None for an array.
        array: Its pixels (H, W) or (H, W, C), BGR; None for a file.
    """

    name: str
    path: str | None = None
    array: np.ndarray | None = None


class LoadedImage(NamedTuple):
    """An image on its way into the model.

    Attributes:
        name: See `ImageInput`.
        path: See `ImageInput`.
        picture: RGB (H, W, 3) uint8 at the original size, to be drawn on.
        packed: What the test pipeline made of it.
    """

    name: str
    path: str | None
    picture: np.ndarray
    packed: dict


def list_images(inputs: Inputs) -> list[ImageInput]:
    """Find all images that are meant.

    Args:
        inputs: A file, a folder (its images in any depth), a glob pattern, an
            array, or several of them. An image that is meant twice counts
            once.

    Returns:
        The images. Their names are the paths below the deepest folder that
        has all of them, without suffix (``0_jpg`` and ``0_png`` where only
        that differs), and ``array_<number>``.
    """
    given: Sequence[OneInput] = (
        [inputs] if isinstance(inputs, OneInput) else inputs
    )
    found: dict[str, np.ndarray | None] = {}
    for number, one in enumerate(given):
        if isinstance(one, np.ndarray):
            found[f'array_{number:03d}'] = one
        else:
            found.update(dict.fromkeys(_expand(str(one))))
    if not found:
        raise UserError('There is no image to predict.')
    names = _names([key for key, array in found.items() if array is None])
    return [
        ImageInput(names[key], path=key)
        if array is None
        else ImageInput(key, array=array)
        for key, array in found.items()
    ]


def _expand(text: str) -> list[str]:
    """Absolute paths of the images that a path or pattern means."""
    if os.path.isdir(text):
        files = list_files(text, IMAGE_SUFFIXES).found
        if not files:
            raise UserError(f'{text}: no images {IMAGE_SUFFIXES} in it')
        files = [os.path.join(text, file) for file in files]
    elif os.path.isfile(text):
        files = [text]  # also where its name looks like a pattern
    else:
        files = [f for f in glob.glob(text, recursive=True) if _is_image(f)]
        if not files:
            raise MissingFileError(
                f'{text}: no such image; expected an image file, a folder of '
                'images or a pattern such as "images/*.png"'
            )
    return sorted(map(os.path.abspath, files), key=natural_key)


def _is_image(path: str) -> bool:
    return os.path.isfile(path) and path.lower().endswith(IMAGE_SUFFIXES)


def _names(paths: Sequence[str]) -> dict[str, str]:
    if not paths:
        return {}
    root = os.path.commonpath([os.path.dirname(path) for path in paths])
    relative = {path: PurePath(os.path.relpath(path, root)) for path in paths}
    stems = Counter(file.with_suffix('') for file in relative.values())
    return {
        path: (
            file.with_suffix('')
            if stems[file.with_suffix('')] == 1
            else file.with_name(file.stem + file.suffix.replace('.', '_'))
        ).as_posix()
        for path, file in relative.items()
    }


class DatasetKeys:
    """Sample keys of images that belong to a data set, without building it.

    Args:
        dataset: Its config, or {}.
    """

    def __init__(self, dataset: Mapping) -> None:
        prefix = (dataset.get('data_prefix') or {}).get('img_path')
        root = dataset.get('data_root') or ''
        self.folder = None if prefix is None else os.path.join(root, prefix)
        self.prefix = dataset.get('key_prefix', '')
        kind = DATASETS.get(dataset['type']) if 'type' in dataset else None
        self.named = issubclass(kind or object, NAMING_DATASETS)

    def __call__(self, path: str) -> str | None:
        """The key that the data set gives an image.

        Returns:
            None if it leaves that to the path; '' if the image is not its
            own, and known by its content.
        """
        if self.folder is None:
            return ''
        folder = os.path.abspath(self.folder)
        if not Path(path).is_relative_to(folder):
            return ''
        image = os.path.relpath(path, folder)
        named = self.named
        return sample_key_below(folder, image, self.prefix) if named else None


class ImagePipeline:
    """The test pipeline of a config, for images without labels.

    Arrays enter where the pipeline would load the file.

    Args:
        cfg: Config; its ``test_dataloader``, else ``test_pipeline``, says
            how images are loaded and resized.
    """

    def __init__(self, cfg: Config) -> None:
        steps = tested_dataset(cfg).get('pipeline') or cfg.get('test_pipeline')
        steps = [
            copy.deepcopy(step)
            for step in steps or ()
            if step['type'] not in LABEL_TRANSFORMS
        ]
        kinds = [step['type'] for step in steps]
        loads = [k.startswith('Load') and 'Image' in k for k in kinds]
        if True not in loads:
            raise UserError(
                f'The test pipeline {kinds} loads no image: expected '
                f'{STOCK_LOADER} or {OWN_LOADER} in '
                'test_dataloader.dataset.pipeline.'
            )
        loader = loads.index(True)
        self.loader = kinds[loader]
        self.color_type = steps[loader].get('color_type', 'color')
        self.by_file = 'LoadBlackBoxProbs' in kinds
        self.key_of = DatasetKeys(tested_dataset(cfg))
        self.load = Compose(steps[: loader + 1])
        self.transform = Compose(steps[loader + 1 :])

    def __call__(self, image: ImageInput) -> LoadedImage:
        """Load and prepare one image.

        Raises:
            UserError: It cannot be read.
        """
        if image.array is None:
            assert image.path is not None  # one of both is given
            results = self._load_file(image.path)
        else:
            results = self._take_array(image.name, image.array)
        pixels = np.atleast_3d(results['img'])
        by_content = results.get('sample_key') == ''
        packed = self.transform(results)
        if by_content:  # MMSeg's PackSegInputs would leave it to the path
            packed['data_samples'].set_metainfo(dict(sample_key=''))
        shape = tuple(packed['data_samples'].metainfo['ori_shape'][:2])
        if shape == pixels.shape[:2]:
            planes = pixels.transpose(2, 0, 1).astype(np.float32)
            picture = input_image(torch.from_numpy(planes), shape)
        else:  # the pipeline crops, and predictions are of the crop
            picture = input_image(packed['inputs'], shape)
        return LoadedImage(image.name, image.path, picture, packed)

    def _load_file(self, path: str) -> dict:
        if self.loader == STOCK_LOADER:
            refuse_deep(path, STOCK_LOADER)  # or truncated: OpenCV fills it
        results = dict(img_path=path, seg_fields=[], reduce_zero_label=False)
        key = self.key_of(path)
        if key or (key == '' and not self.by_file):  # a cache goes by names
            results['sample_key'] = key
        return self.load(results)

    def _take_array(self, name: str, array: np.ndarray) -> dict:
        if self.by_file:
            raise UserError(
                f'{name}: the pipeline reads cached predictions of the black '
                'box by the name of the image (LoadBlackBoxProbs), and an '
                'array has none: give a file.'
            )
        if array.ndim not in (2, 3) or 0 in array.shape:
            raise UserError(
                f'{name}: array of shape {array.shape}; expected (height, '
                'width) or (height, width, channels)'
            )
        if array.dtype != np.uint8 and self.loader != OWN_LOADER:
            raise UserError(
                f'{name}: array of {array.dtype}; the pipeline expects what '
                f'{self.loader} gives: uint8, 0 to 255'
            )
        if array.dtype.kind == 'f' and not np.isfinite(array).all():
            raise UserError(f'{name}: NaN or infinite values')
        array = self._with_channels(name, array)
        size = array.shape[:2]
        results: dict = dict(img=array.copy(), img_shape=size, ori_shape=size)
        if array.dtype != np.uint8:
            results[RAW_DTYPE] = array.dtype.name
        return results | dict(seg_fields=[], reduce_zero_label=False)

    def _with_channels(self, name: str, array: np.ndarray) -> np.ndarray:
        """Bring an array to the channels that the loader would give."""
        channels = array.shape[2] if array.ndim == 3 else 1
        allowed = dict(color=(1, 3), grayscale=(1,)).get(self.color_type)
        if allowed and channels not in allowed:
            raise UserError(
                f'{name}: array with {channels} channels; the pipeline loads '
                f'images with color_type={self.color_type!r}: expected '
                f'{" or ".join(map(str, allowed))} (BGR if 3)'
            )
        if self.color_type == 'color' and channels == 1:
            return np.repeat(array.reshape(*array.shape[:2], 1), 3, 2)
        if self.color_type == 'grayscale':
            return array.reshape(array.shape[:2])
        return array


def input_shape(image: LoadedImage) -> tuple[int, ...]:
    """Shape (C, H, W) of an image as the model gets it."""
    inputs = image.packed['inputs']
    if isinstance(inputs, Sequence | Mapping):
        raise UserError(
            f'{image.name}: the test pipeline makes several images of one, '
            'as test-time augmentation does: expected a plain pipeline.'
        )
    return tuple(inputs.shape)
