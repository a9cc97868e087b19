"""Transforms for several label maps per image, and images of any depth."""

from .black_box import KeepImageForBlackBox, LoadBlackBoxProbs
from .formatting import PackStochasticInputs
from .geometry import CenterCropAll, LesionCenteredCrop, PadAll, ResizeOriginal
from .loading import (
    LoadCheckedImage,
    LoadMultiAnnotations,
    NormalizePercentiles,
    RandomClassFlips,
    ReadCopies,
    WindowIntensity,
)
