"""Images without labels, through the test pipeline of a config."""

import copy
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from mmcv.transforms import Compose
from mmengine.config import Config
from mmseg.registry import DATASETS

from ..datasets import Cityscapes24Dataset, MultiAnnotatorDataset
from ..datasets.image_files import input_image, refuse_deep
from ..datasets.transforms.loading import RAW_DTYPE
from ..structures import sample_key_below
from ..utils.errors import UserError
from .image_list import ImageInput, LoadedImage
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


def key_in(dataset: Mapping, path: str) -> str | None:
    """The key that a data set gives an image, without building it.

    Args:
        dataset: Its config, or {}.
        path: Of the image.

    Returns:
        None if it leaves that to the path; '' if the image is not its own,
        and known by its content.
    """
    prefix = (dataset.get('data_prefix') or {}).get('img_path')
    if prefix is None:
        return ''
    root = dataset.get('data_root') or ''
    folder = os.path.abspath(os.path.join(root, prefix))
    if not Path(path).is_relative_to(folder):
        return ''
    kind = DATASETS.get(dataset['type']) if 'type' in dataset else None
    if not issubclass(kind or object, NAMING_DATASETS):
        return None
    image = os.path.relpath(path, folder)
    return sample_key_below(folder, image, dataset.get('key_prefix', ''))


class ImagePipeline:
    """The test pipeline of a config, for images without labels.

    Arrays enter where the pipeline would load the file.

    Args:
        cfg: Config; its ``test_dataloader``, else ``test_pipeline``, says
            how images are loaded and resized.
    """

    def __init__(self, cfg: Config) -> None:
        self.dataset = tested_dataset(cfg)
        steps = self.dataset.get('pipeline') or cfg.get('test_pipeline')
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
        key = key_in(self.dataset, path)
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
