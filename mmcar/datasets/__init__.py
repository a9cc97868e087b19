"""Data sets with several plausible labels per image, and their transforms."""

from .camvid_flips import CamVidFlipsDataset
from .cityscapes24 import Cityscapes24Dataset
from .formatting import PackStochasticInputs
from .lidc import LIDCDataset
from .loading import LoadBlackBoxProbs, LoadCheckedImage, LoadMultiAnnotations
from .multi_annotator import MultiAnnotatorDataset
from .transforms import (
    LesionCenteredCrop,
    PadAll,
    RandomClassFlips,
    ResizeOriginal,
)

__all__ = [
    'CamVidFlipsDataset',
    'Cityscapes24Dataset',
    'LIDCDataset',
    'LesionCenteredCrop',
    'LoadBlackBoxProbs',
    'LoadCheckedImage',
    'LoadMultiAnnotations',
    'MultiAnnotatorDataset',
    'PackStochasticInputs',
    'PadAll',
    'RandomClassFlips',
    'ResizeOriginal',
]
