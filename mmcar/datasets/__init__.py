"""Data sets with several plausible labels per image, and their transforms."""

from .camvid_flips import CamVidFlipsDataset
from .cityscapes24 import Cityscapes24Dataset
from .lidc import LIDCDataset
from .multi_annotator import MultiAnnotatorDataset
from .transforms import (
    CenterCropAll,
    KeepImageForBlackBox,
    LesionCenteredCrop,
    LoadBlackBoxProbs,
    LoadCheckedImage,
    LoadMultiAnnotations,
    NormalizePercentiles,
    PackStochasticInputs,
    PadAll,
    RandomClassFlips,
    ResizeOriginal,
    WindowIntensity,
)
from .writer import MultiAnnotatorWriter

__all__ = [
    'CamVidFlipsDataset',
    'CenterCropAll',
    'Cityscapes24Dataset',
    'KeepImageForBlackBox',
    'LIDCDataset',
    'LesionCenteredCrop',
    'LoadBlackBoxProbs',
    'LoadCheckedImage',
    'LoadMultiAnnotations',
    'MultiAnnotatorDataset',
    'MultiAnnotatorWriter',
    'NormalizePercentiles',
    'PackStochasticInputs',
    'PadAll',
    'RandomClassFlips',
    'ResizeOriginal',
    'WindowIntensity',
]
