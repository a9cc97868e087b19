"""Data sets in which several annotators labelled each image."""

import os.path as osp
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import mmengine
import mmengine.fileio as fileio
from mmseg.datasets import BaseSegDataset
from mmseg.registry import DATASETS

from ..structures import ClassFlips
from ..utils.errors import MissingFileError, UserError
from .label_index import group_annotations, read_index

IMAGE_SUFFIXES = ('.png', '.jpg', '.jpeg', '.bmp', '.tif', '.tiff')

Problem = tuple[str, str]
"""A file and what is wrong with it."""


def raise_problems(problems: Sequence[Problem], what: str) -> None:
    """Raise one ValueError that lists the first few problems, if any."""
    if problems:
        shown = '\n'.join(f'  {file}: {text}' for file, text in problems[:10])
        more = len(problems) - 10
        rest = f'\n  ... and {more} more' if more > 0 else ''
        raise UserError(
            f'{what}: {len(problems)} problems\n{shown}{rest}\n'
            'tools/analysis_tools/check_dataset.py lists all of them'
        )


@DATASETS.register_module()
class MultiAnnotatorDataset(BaseSegDataset):
    """Images with one label map per annotator, any number per image.

    Below ``data_prefix`` lie the images, ``<stem>.<ext>`` in any depth of
    folders, and their label maps, either ``<stem>/<annotator>.png``, or
    ``<stem>_l0.png``, ``<stem>_l1.png``, ... side by side, or a single
    ``<stem>.png``. ``ann_file`` may name the images instead:

    - ``.txt``: one stem per line;
    - ``.csv``: columns ``image`` and ``annotation``, one row per label map;
    - ``.json``: a list of ``{"image": ..., "annotations": [...]}``.

    Paths in CSV and JSON are relative to the two prefixes. A
    ``class_flips`` table in ``metainfo`` adds class flips to any data set.

    Args:
        ann_file: Index file, relative to ``data_root``; '' takes all images.
        metainfo: Must name the ``classes``.
        data_root: Folder that prefixes and ``ann_file`` start from.
        data_prefix: Folders of images, ``img_path``, and label maps,
            ``seg_map_path``.
        img_suffix: Endings of image files.
        patient_pattern: Regular expression that finds the patient (or any
            other group that no two splits may share) in an image's path.
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
        patient_pattern: str | None = None,
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
        if isinstance(img_suffix, str):
            img_suffix = (img_suffix,)
        if not ((metainfo or {}).get('classes') or self.METAINFO):
            raise UserError(
                f'{type(self).__name__} needs metainfo=dict(classes=(...)), '
                'the class names in the order of their ids'
            )
        super().__init__(
            ann_file=ann_file,
            img_suffix=tuple(img_suffix),
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
        raise_problems(problems, type(self).__name__)
        return records

    def scan(self) -> tuple[list[dict], list[Problem]]:
        """List images and label maps, and what does not fit.

        Returns:
            One record per image, sorted by path, and the problems found.
        """
        if self.ann_file.endswith(('.csv', '.json')):
            pairs, problems = read_index(self.ann_file), []
            if not self.data_prefix.get('seg_map_path'):
                pairs = [(image, None) for image, _ in pairs]
        else:
            pairs, problems = self._match_files()
        problems += self._find_problems(pairs)
        records = [self._record(*pair) for pair in pairs]
        return sorted(records, key=lambda r: r['img_path']), problems

    def _match_files(self) -> tuple[list[tuple], list[Problem]]:
        """Pair the files of the image folder with those of the labels."""
        img_dir = self.data_prefix['img_path']
        ann_dir = self.data_prefix.get('seg_map_path')
        images, problems = self._list(img_dir, self.img_suffix), []
        if self.ann_file:
            images, problems = self._select(images)
        if not ann_dir:
            return [(image, None) for image in images], problems
        files = self._list(ann_dir, ('.png',))
        groups = group_annotations(files)
        pairs = [(i, groups.get(osp.splitext(i)[0], [])) for i in images]
        if not self.ann_file:
            used = {file for _, labels in pairs for file in labels}
            what = f'no image of it; expected one in {img_dir}'
            problems += [
                (osp.join(ann_dir, file), what)
                for file in files
                if file not in used
            ]
        return pairs, problems

    def _list(self, folder: str, suffixes: tuple[str, ...]) -> list[str]:
        if not fileio.isdir(folder, backend_args=self.backend_args):
            raise MissingFileError(
                f'{folder}: no such folder; check data_root='
                f'{self.data_root!r} and data_prefix of {type(self).__name__}'
            )
        return sorted(
            fileio.list_dir_or_file(
                folder,
                list_dir=False,
                suffix=suffixes,
                recursive=True,
                backend_args=self.backend_args,
            )
        )

    def _select(self, images: list[str]) -> tuple[list[str], list[Problem]]:
        """The images whose stems the text file lists, in its order."""
        if not osp.isfile(self.ann_file):
            raise MissingFileError(f'{self.ann_file}: no such ann_file')
        by_stem = defaultdict(list)
        for image in images:
            by_stem[osp.splitext(image)[0]].append(image)
        lines = mmengine.list_from_file(self.ann_file)
        stems = [line.strip() for line in lines if line.strip()]
        problems = [
            (
                osp.join(self.data_prefix['img_path'], stem),
                f'no image {self.img_suffix}, but {self.ann_file} lists it',
            )
            for stem in stems
            if stem not in by_stem
        ]
        return [i for stem in stems for i in by_stem.get(stem, [])], problems

    def _find_problems(self, pairs: Sequence[tuple]) -> list[Problem]:
        img_dir = self.data_prefix['img_path']
        stems = Counter(osp.splitext(image)[0] for image, _ in pairs)
        problems = [
            (osp.join(img_dir, image), 'no label map; expected at least one')
            for image, labels in pairs
            if labels is not None and not labels
        ]
        problems += [
            (osp.join(img_dir, image), f'label map {file} is listed twice')
            for image, labels in pairs
            for file, n in Counter(labels or ()).items()
            if n > 1
        ]
        problems += [
            (osp.join(img_dir, stem), f'{n} images of this stem; expected one')
            for stem, n in stems.items()
            if n > 1
        ]
        if not pairs:
            problems.append((img_dir, f'no images {self.img_suffix}'))
        return problems

    def _record(self, image: str, labels: Sequence[str] | None) -> dict:
        path = osp.join(self.data_prefix['img_path'], image)
        record = {
            'img_path': path,
            'label_map': self.label_map,
            'reduce_zero_label': self.reduce_zero_label,
            'seg_fields': [],
            'num_classes': len(self.metainfo['classes']),
        }
        if labels:
            ann_dir = self.data_prefix['seg_map_path']
            record['seg_map_paths'] = [osp.join(ann_dir, f) for f in labels]
        if flips := self.metainfo.get('class_flips'):
            table = ClassFlips.parse(flips, record['num_classes'])
            record['class_flips'] = table.rows
        if self.patient_pattern:
            match = re.search(self.patient_pattern, path)
            record['patient'] = match.group() if match else None
        return record
