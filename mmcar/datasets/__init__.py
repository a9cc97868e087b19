"""Data sets with several plausible labels per image, and their transforms.

They need MMSegmentation; `image_files` does not.
"""

from importlib.util import find_spec

if find_spec('mmseg') is not None:
    from . import transforms
    from .camvid_flips import CamVidFlipsDataset
    from .cityscapes24 import Cityscapes24Dataset
    from .lidc import LIDCDataset
    from .multi_annotator import MultiAnnotatorDataset
    from .writer import MultiAnnotatorWriter
