"""Cityscapes with five classes that turn into twins at random."""

import os.path as osp
from pathlib import PurePath

from mmengine import fileio
from mmseg.datasets import CityscapesDataset
from mmseg.registry import DATASETS

from ..structures import ClassFlips, add_twins, sample_key_below
from ..utils.errors import MissingFileError, UserError
from .indices import check_indices


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
        {
            'sidewalk': 8 / 17,
            'person': 7 / 17,
            'car': 6 / 17,
            'vegetation': 5 / 17,
            'road': 4 / 17,
        },
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
                class_flips=flips.rows,
                num_classes=num_classes,
            )
        return records

    def filter_data(self) -> list[dict]:
        """Keep the cities of ``filter_cfg``, which ``indices`` count."""
        config = dict(self.filter_cfg or {})
        cities = config.pop('cities', None)
        without = config.pop('without_cities', ())
        if config:
            raise UserError(
                f"filter_cfg: {sorted(config)}; expected 'cities' or "
                "'without_cities'"
            )
        city_of = [PurePath(r['img_path']).parts[-2] for r in self.data_list]
        unknown = {*(cities or ()), *without} - set(city_of)
        if unknown:
            raise UserError(
                f'filter_cfg: no images of {sorted(unknown)} in '
                f'{self.data_prefix["img_path"]}; it has '
                f'{sorted(set(city_of))}'
            )
        kept = [
            record
            for record, city in zip(self.data_list, city_of, strict=True)
            if city not in without and (cities is None or city in cities)
        ]
        check_indices(self._indices, len(kept), self.data_prefix['img_path'])
        return kept
