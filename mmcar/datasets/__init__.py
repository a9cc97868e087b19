"""Data sets with several plausible labels per image, and their transforms.

They need MMSegmentation; `image_files` does not.
"""

from importlib.util import find_spec

if find_spec('mmseg') is not None:
    from . import transforms
    from .multi_annotator import MultiAnnotatorDataset, MultiAnnotatorWriter
    from .public_sets import (
        CamVidFlipsDataset,
        Cityscapes24Dataset,
        LIDCDataset,
    )
