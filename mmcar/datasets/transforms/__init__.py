"""Transforms for several label maps per image, and images of any depth."""

from .black_box import KeepImageForBlackBox, LoadBlackBoxProbs
from .class_flips import RandomClassFlips
from .copies import ReadCopies
from .formatting import PackStochasticInputs
from .geometry import (
    CenterCropAll,
    LesionCenteredCrop,
    PadAll,
    ResizeOriginal,
)
from .intensity import NormalizePercentiles, WindowIntensity
from .loading import LoadCheckedImage, LoadMultiAnnotations
