"""The name of an image: key of its noise, of its files, of its cache."""

import os.path
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from mmseg.structures import SegDataSample

from ..utils.errors import UserError


def sample_key(
    data_sample: SegDataSample | Mapping, roots: Sequence[str] = ()
) -> str:
    """A stable name of an image: the key of its noise and of its files.

    It is ``sample_key`` where a data set sets one: the path relative to the
    parent of the image folder, wherever the data lie. Else it is the path
    relative to the data root; where that is not known, the whole path of the
    image, relative to the current folder where it is below it.

    Args:
        data_sample: Of the image, or what a data set says about it.
        roots: Folders of the data sets that do not name their images. If
            there are several, the name of the folder comes first.
    """
    key = data_sample.get('sample_key')
    if key is not None:
        return key
    return _path_key(data_sample.get('img_path'), roots)


def _path_key(path: str | None, roots: Sequence[str]) -> str:
    if not path or '://' in path:
        return path.partition('://')[2] if path else ''
    whole = Path(os.path.abspath(path))
    for root in sorted(map(os.path.abspath, roots), key=len, reverse=True):
        if whole.is_relative_to(root):
            several = len({*map(os.path.abspath, roots)}) > 1
            first = Path(root).name if several else ''
            return PurePath(first, whole.relative_to(root)).as_posix()
    if whole.is_relative_to(Path.cwd()):
        return whole.relative_to(Path.cwd()).as_posix()
    return whole.relative_to(whole.anchor).as_posix()


def sample_key_below(folder: str, image: str, prefix: str = '') -> str:
    """The sample key of an image below a folder of images.

    Args:
        folder: The folder, e.g. ``data/x/images/train``.
        image: Path relative to it, e.g. ``p1/0.png``.
        prefix: Put before it, to tell data sets apart.

    Returns:
        The folder's name and the path, e.g. ``train/p1/0.png``.
    """
    name = PurePath(os.path.normpath(folder)).name
    name = '' if name == '..' else name
    return PurePath(prefix, name, image).as_posix()


class KeyOwners:
    """Which image each key belongs to; no two images may share one.

    Args:
        what: What images of one key would have in common, for the error.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.owners: dict[Any, str] = {}

    def claim(self, key: Any, path: str) -> None:
        """Note an image's key.

        Args:
            key: The key, or what is made of it.
            path: The image.

        Raises:
            UserError: Another image has the same key.
        """
        other = self.owners.setdefault(key, path)
        if other != path and os.path.abspath(other) != os.path.abspath(path):
            raise UserError(
                f'{other} and {path} would share {self.what} {key}: give one '
                'of their data sets key_prefix (MultiAnnotatorDataset and '
                'those that extend it), or rename a folder or file.'
            )


def refuse_shared_keys(dataset: Any) -> None:
    """Refuse a data set in which two images have the same key.

    Args:
        dataset: Any data set; one that cannot say what it holds passes.
    """
    if hasattr(dataset, 'get_data_info'):
        owners = KeyOwners('the key')
        for i in range(len(dataset)):
            info = dataset.get_data_info(i)
            owners.claim(sample_key(info), info['img_path'])
