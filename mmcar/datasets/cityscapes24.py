"""Cityscapes with five classes that turn into twins at random."""

import os.path as osp
from pathlib import PurePath

from mmengine import fileio
from mmseg.datasets import CityscapesDataset
from mmseg.registry import DATASETS

from ..structures import ClassFlips, add_twins, sample_key_below
from ..utils.checks import one_of
from ..utils.errors import MissingFileError, UserError
from .listing import check_indices

FLIPPED = ('sidewalk', 'person', 'car', 'vegetation', 'road')
# Of the paper, for each of the flipped classes.
FLIP_RATES = [n / 17 for n in (8, 7, 6, 5, 4)]


@DATASETS.register_module()
class Cityscapes24Dataset(CityscapesDataset):
    """The stochastic Cityscapes of 24 classes, in MMSeg's Cityscapes layout.

    Label files are the ordinary ``*_labelTrainIds.png``; the flip table is
    in the metainfo. The arguments are those of ``CityscapesDataset``; to
    hold out cities of the training set for model selection, give
    ``filter_cfg=dict(without_cities=[...])`` to the training set and
    ``filter_cfg=dict(cities=[...])`` to the validation set.
    """

    METAINFO = add_twins(
        CityscapesDataset.METAINFO,
        dict(zip(FLIPPED, FLIP_RATES, strict=True)),
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
                'tools/dataset_converters/cityscapes24.py, or check '
                f'data_root={self.data_root!r}'
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
