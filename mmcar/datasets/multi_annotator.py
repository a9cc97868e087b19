"""Data sets in which several annotators labelled each image."""

import os.path as osp
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from mmseg.datasets import BaseSegDataset
from mmseg.registry import DATASETS

from ..structures import ClassFlips, sample_key_below
from ..utils.checks import one_of
from ..utils.errors import UserError
from ..utils.files import IMAGE_SUFFIXES, inside, write_files
from . import listing
from .image_files import encode_png, write_png
from .label_files import LABEL_SUFFIXES
from .listing import Pair, Problem, list_files


def _several(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


@DATASETS.register_module()
class MultiAnnotatorDataset(BaseSegDataset):
    """Images with one label map per annotator, any number per image.

    Below ``data_prefix`` lie the images, ``<stem>.<ext>`` in any depth of
    folders, and their label maps, either ``<stem>/<annotator>.png``, or
    ``<stem>_l0.png``, ``<stem>_l1.png``, ... side by side, or a single
    ``<stem>.png``. ``ann_file`` may name the images instead:

    - ``.txt``: one image per line, with or without suffix;
    - ``.csv``: columns ``image`` and ``annotation``, one row per label map,
      and ``patient``, if known (any group that no two splits may share);
    - ``.json``: a list of ``{"image": ..., "annotations": [...]}``.

    Paths in CSV and JSON are relative to the two prefixes. A
    ``class_flips`` table in ``metainfo`` adds class flips to any data set.

    The ``sample_key`` of an image, which names its noise and the files that
    are written for it, is its path relative to the parent of the image
    folder: ``train/p1/0.png`` for ``images/train`` and ``p1/0.png``. Where
    data sets are joined that name their images alike, ``key_prefix`` tells
    them apart.

    Args:
        ann_file: Index file, relative to ``data_root``; '' takes all images.
        metainfo: Must name the ``classes``.
        data_root: Folder that prefixes and ``ann_file`` start from.
        data_prefix: Folders of images, ``img_path``, and label maps,
            ``seg_map_path``.
        img_suffix: Endings of image files, in upper or lower case.
        seg_map_suffix: Endings of label maps, likewise.
        label_map: New ids of ids in the files, e.g. ``{255: 1}`` for masks
            of 0 and 255.
        patient_pattern: Regular expression that finds the patient (or any
            other group that no two splits may share) in an image's path.
        key_prefix: Put before every sample key, e.g. ``'clinic_b'``.
        ignore_index: Label of unlabelled pixels.
        indices: Take these images only, or the first so many.
        serialize_data: Share the list of images between workers.
        pipeline: Transforms.
        test_mode: Whether the set is used for testing.
        lazy_init: Do not list the images yet.
        max_refetch: How often to try another image if one is skipped.
        backend_args: MMEngine's file backend.
    """

    PATIENT_PATTERN: str | None = None

    def __init__(
        self,
        ann_file: str = '',
        metainfo: dict | None = None,
        data_root: str | None = None,
        data_prefix: dict | None = None,
        img_suffix: str | Sequence[str] = IMAGE_SUFFIXES,
        seg_map_suffix: str | Sequence[str] = LABEL_SUFFIXES,
        label_map: Mapping[int, int] | None = None,
        patient_pattern: str | None = None,
        key_prefix: str = '',
        ignore_index: int = 255,
        indices: int | Sequence[int] | None = None,
        serialize_data: bool = True,
        pipeline: Sequence[dict | Callable] = (),
        test_mode: bool = False,
        lazy_init: bool = False,
        max_refetch: int = 1000,
        backend_args: dict | None = None,
    ) -> None:
        self.patient_pattern = patient_pattern or self.PATIENT_PATTERN
        try:
            re.compile(self.patient_pattern or '')
        except re.error as error:
            raise UserError(
                f'patient_pattern={self.patient_pattern!r}: {error}'
            ) from error
        self.key_prefix = key_prefix
        self.patients: dict[str, str] = {}
        self.new_ids = dict(label_map or {})
        if not {*self.new_ids, *self.new_ids.values()} <= {*range(256)}:
            raise UserError(f'label_map={self.new_ids}: expected 0 to 255')
        if not ((metainfo or {}).get('classes') or self.METAINFO):
            raise UserError('expected metainfo=dict(classes=(...))')
        for key in data_prefix or ():
            one_of(('img_path', 'seg_map_path'), data_prefix=key)
        super().__init__(
            ann_file=ann_file,
            img_suffix=_several(img_suffix),
            seg_map_suffix=_several(seg_map_suffix),
            metainfo=metainfo,
            data_root=data_root,
            data_prefix=data_prefix or {'img_path': '', 'seg_map_path': ''},
            indices=indices,
            serialize_data=serialize_data,
            pipeline=list(pipeline),
            test_mode=test_mode,
            lazy_init=lazy_init,
            max_refetch=max_refetch,
            ignore_index=ignore_index,
            backend_args=backend_args,
        )

    def load_data_list(self) -> list[dict]:
        """List the images; an image without label maps is an error."""
        records, problems = self.scan()
        listing.raise_problems(problems, type(self).__name__)
        return records

    def scan(self) -> tuple[list[dict], list[Problem]]:
        """List images and label maps, and what does not fit.

        Returns:
            One record per image, sorted by path, and the problems found.
        """
        img_dir = self.data_prefix['img_path']
        ann_dir = self.data_prefix.get('seg_map_path')
        pairs: list[Pair]
        labels, problems = None, []
        if self.ann_file.endswith(('.csv', '.json')):
            images = listing.Files(img_dir, self.img_suffix, [])
            found, self.patients = listing.read_index(self.ann_file)
            pairs = [*found]
        else:
            images = list_files(img_dir, self.img_suffix, self.backend_args)
            pairs = [(image, []) for image in images.found]
            if ann_dir:
                suffixes = self.seg_map_suffix
                labels = list_files(ann_dir, suffixes, self.backend_args)
                pairs, problems = listing.match_files(images, labels)
            if self.ann_file:
                # Labels of images that are not listed are no problem.
                pairs, problems = self._select(pairs)
        if not ann_dir:
            pairs = [(image, None) for image, _ in pairs]
        problems += listing.find_unpaired(pairs, images, labels)
        records = [self._record(*pair) for pair in pairs]
        return sorted(records, key=lambda r: r['img_path']), problems

    def _select(self, pairs: list[Pair]) -> tuple[list[Pair], list[Problem]]:
        """The images that the text file lists, in its order."""
        by_name = defaultdict(list)
        for pair in pairs:
            by_name[pair[0]].append(pair)
            by_name[listing.stem_of(pair[0])].append(pair)
        names = listing.read_names(self.ann_file)
        missing = [name for name in names if name not in by_name]
        folder = self.data_prefix['img_path']
        if len(missing) == len(names):  # some other file: it is not shown
            what = f'none of its {len(names)} lines names an image in {folder}'
            return [], [(self.ann_file, what)]
        what = f'no image {self.img_suffix}, but {self.ann_file} lists it'
        return (
            [pair for name in names for pair in by_name.get(name, ())],
            [(osp.join(folder, name), what) for name in missing],
        )

    def filter_data(self) -> list[dict]:
        """All images; ``indices`` beyond them are an error."""
        listing.check_indices(
            self._indices, len(self.data_list), self.data_prefix['img_path']
        )
        return self.data_list

    def _record(self, image: str, labels: Sequence[str] | None) -> dict:
        img_dir = self.data_prefix['img_path']
        record = {
            'img_path': osp.join(img_dir, image),
            'sample_key': sample_key_below(img_dir, image, self.key_prefix),
            'label_map': {**(self.label_map or {}), **self.new_ids} or None,
            'reduce_zero_label': self.reduce_zero_label,
            'seg_fields': [],
            'num_classes': len(self.metainfo['classes']),
        }
        if labels:
            ann_dir = self.data_prefix['seg_map_path']
            record['seg_map_paths'] = [osp.join(ann_dir, f) for f in labels]
        if flips := self.metainfo.get('class_flips'):
            table = ClassFlips.parse(flips, record['num_classes'])
            record['class_flips'] = table
        if self.patient_pattern:
            match = re.search(self.patient_pattern, record['img_path'])
            record['patient'] = match.group() if match else None
        elif image in self.patients:
            record['patient'] = self.patients[image]
        return record


class MultiAnnotatorWriter:
    """Writes a data set, for converters of ours and of users.

    ``images/<split>/<stem>.png`` appears last, so an image that is there is
    complete; a second run may skip it.

    Args:
        out_dir: Folder to write to.
    """

    def __init__(self, out_dir: str | Path) -> None:
        self.out_dir = Path(out_dir)
        self.written = 0

    def image_path(self, split: str, stem: str) -> Path:
        """Where the image of a sample lies."""
        return inside(self.out_dir / 'images' / split, f'{stem}.png')

    def write(
        self, split: str, stem: str, image: np.ndarray, masks: np.ndarray
    ) -> None:
        """Write a sample: image (H, W) and annotators' masks (A, H, W)."""
        folder = inside(self.out_dir / 'annotations' / split, stem)
        write_files(
            (folder / f'r{number}.png', encode_png(mask))
            for number, mask in enumerate(masks)
        )
        write_png(self.image_path(split, stem), image)
        self.written += 1
