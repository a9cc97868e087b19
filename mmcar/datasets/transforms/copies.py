"""Reading smaller copies of images in place of the images themselves."""

import os.path as osp
from pathlib import Path

from mmcv.transforms import BaseTransform
from mmseg.registry import TRANSFORMS

from ...utils.errors import MissingFileError, UserError
from ...utils.files import inside

PATHS = ('img_path', 'seg_map_path')


@TRANSFORMS.register_module()
class ReadCopies(BaseTransform):
    """Let the next transforms read copies of image and label map.

    A data set lists images as they came, which is what a black box sees. A
    training that works at a fraction of their size need not decode them at
    every iteration: put this first in its pipeline.

    Required keys: ``data_root``, ``img_path``. Optional keys:
    ``seg_map_path``. The paths are modified.

    Args:
        folder: Folder of the copies below ``data_root``; they have the same
            names below it as the originals below ``data_root``.
        advice: How copies are made, for the error if one is missing.
    """

    def __init__(self, folder: str, advice: str) -> None:
        self.folder = folder
        self.advice = advice

    def transform(self, results: dict) -> dict:
        """Point the paths to the copies."""
        root = results.get('data_root')
        if root is None:
            raise UserError(
                f'{results.get("img_path", "image")}: ReadCopies needs a '
                'data set that gives data_root, as Cityscapes24Dataset does.'
            )
        for key in PATHS:
            if key in results:
                results[key] = self._copy_of(results[key], root)
        return results

    def _copy_of(self, path: str, root: str) -> str:
        name = osp.relpath(path, root)
        copy = inside(Path(root) / self.folder, name)
        if not copy.is_file():
            raise MissingFileError(f'{copy}: no copy of {path}; {self.advice}')
        return str(copy)
