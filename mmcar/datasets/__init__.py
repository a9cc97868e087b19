"""Data sets with several plausible labels per image, and their transforms."""

from .formatting import PackStochasticInputs
from .loading import LoadBlackBoxProbs, LoadCheckedImage, LoadMultiAnnotations
from .multi_annotator import MultiAnnotatorDataset
from .transforms import LesionCenteredCrop, PadAll, RandomClassFlips

__all__ = [
    'LesionCenteredCrop',
    'LoadBlackBoxProbs',
    'LoadCheckedImage',
    'LoadMultiAnnotations',
    'MultiAnnotatorDataset',
    'PackStochasticInputs',
    'PadAll',
    'RandomClassFlips',
]
