"""Images in every form that people have them, on the way into a model."""

import copy
import glob
import os
import re
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
from ..datasets.listing import natural_key
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


OneInput = str | Path | np.ndarray | ImageInput
Inputs = OneInput | Sequence[OneInput]


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
        The images, each with a name of its own: the path below the deepest
        folder that has all of them, without suffix (``0_jpg`` and ``0_png``
        where only that differs), and ``array_<number>``.
    """
    single = isinstance(inputs, OneInput)
    if not single and not isinstance(inputs, Sequence):
        raise _refusal('inputs', inputs)
    found: list[ImageInput] = []
    paths: dict[str, None] = {}  # in their order, each once
    for number, one in enumerate([inputs] if single else inputs):
        if isinstance(one, ImageInput):
            found.append(one)
        elif isinstance(one, np.ndarray):
            found.append(ImageInput(f'array_{number:03d}', array=one))
        elif isinstance(one, str | Path):
            new = [p for p in _expand(str(one)) if p not in paths]
            paths.update(dict.fromkeys(new))
            found += [ImageInput('', path) for path in new]
        else:
            raise _refusal(f'inputs[{number}]', one)
    if not found:
        raise UserError('There is no image to predict.')
    given = [image.name for image in found if image.name]
    if len(set(given)) < len(given):
        raise UserError(
            f'Two images have the name {Counter(given).most_common(1)[0][0]}: '
            'list the images of all folders at once.'
        )
    names = _names(list(paths), set(given))
    return [
        image if image.name else image._replace(name=names[image.path])
        for image in found
    ]


def _refusal(where: str, value: object) -> UserError:
    return UserError(
        f'{where} is of type {type(value).__name__}: expected the path of a '
        'file or folder, a pattern, a NumPy array of pixels (H, W) or '
        '(H, W, C), BGR if C = 3, or a list of these.'
    )


def _expand(text: str) -> list[str]:
    """Absolute paths of the images that a path or pattern means.

    Links that lead nowhere are among them: reading them says so.
    """
    if os.path.isdir(text):
        files = _images_below(text)
        if not files:
            raise UserError(f'{text}: no images {IMAGE_SUFFIXES} in it')
    elif os.path.lexists(text):
        files = [text]  # also where its name looks like a pattern
    else:
        found = glob.glob(text, recursive=True)
        files = [f for f in found if _is_image(f) and not os.path.isdir(f)]
        if not files:
            raise MissingFileError(
                f'{text}: no such image; expected an image file, a folder of '
                'images or a pattern such as "images/*.png"'
            )
    return sorted(map(os.path.abspath, files), key=natural_key)


def _is_image(path: str) -> bool:
    return path.lower().endswith(IMAGE_SUFFIXES)


def _images_below(root: str) -> list[str]:
    """All images in any depth; no folder twice, whatever links to it."""
    found, seen = [], set()
    for folder, folders, files in os.walk(root, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        files = [f for f in files if _is_image(f) and not f.startswith('.')]
        found += [os.path.join(folder, file) for file in files]
    return found


def _names(paths: Sequence[str], taken: set[str]) -> dict[str, str]:
    """A name of its own for every path, none of those that are taken."""
    if not paths:
        return {}
    root = os.path.commonpath([os.path.dirname(path) for path in paths])
    files = {path: PurePath(os.path.relpath(path, root)) for path in paths}
    # What ends as a file of another image would stand in its way.
    stems = {
        path: re.sub(
            r'\.(png|npz)(?=/|$)', r'_\1', file.with_suffix('').as_posix()
        )
        for path, file in files.items()
    }
    shared, names = Counter([*stems.values(), *taken]), {}
    taken = taken | {stem for stem in stems.values() if shared[stem] == 1}
    for path, stem in stems.items():
        if shared[stem] > 1:
            stem += files[path].suffix.replace('.', '_')
            while stem in taken:
                stem += '_'
            taken.add(stem)
        names[path] = stem
    return names


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
