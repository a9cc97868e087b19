"""The names of an image: of its noise, and of the files written for it.

Data sets of ours name their images: the folder of images and the path below
it, `sample_key_below`. That is both. Of other data sets a model knows nothing
but the path of an image. Noise must be the same on every machine and under
every tool, so it goes by the last parts of the path; files must not be
confused on this machine, so they go by all of it.
"""

import os.path
from pathlib import Path, PurePath
from typing import Any

from ..utils.errors import UserError
from .labels import DataSample

# File and folder: below the data root in every usual layout.
PARTS = 2


def noise_key(data_sample: DataSample) -> str:
    """What the noise of an image follows from, beside the seed.

    The name that the data set gave it, else its folder and file, e.g.
    ``frankfurt/frankfurt_000000_000294_leftImg8bit.png``, wherever the data
    lie; '' for an image without name and path, and for one whose
    ``sample_key`` is ''.
    """
    key = data_sample.get('sample_key')
    return '/'.join(_path(data_sample).parts[-PARTS:]) if key is None else key


def sample_key(data_sample: DataSample) -> str:
    """The name of an image's files, relative to the folder they lie in.

    The name that the data set gave it, else its path, relative to the current
    folder where it is below it.
    """
    key = data_sample.get('sample_key')
    if key is not None:
        return key
    path, here = _path(data_sample), _below_root(Path.cwd())
    return '/'.join(
        (path.relative_to(here) if path.is_relative_to(here) else path).parts
    )


def _path(data_sample: DataSample) -> PurePath:
    """An image's whole path, from below the root of the file system."""
    path = data_sample.get('img_path') or ''
    _, remote, address = path.partition('://')
    if remote or not path:
        return PurePath(address)
    return _below_root(Path(os.path.abspath(path)))


def _below_root(path: PurePath) -> PurePath:
    return path.relative_to(path.anchor)


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

    def other(self, key: Any, path: str) -> str | None:
        """Note an image's key.

        Args:
            key: The key, or what is made of it.
            path: The image.

        Returns:
            Another image that has the same key, if there is one.
        """
        other = self.owners.setdefault(key, path)
        same = other == path or os.path.abspath(other) == os.path.abspath(path)
        return None if same else other

    def claim(self, key: Any, path: str) -> None:
        """Note an image's key; see `other`.

        Raises:
            UserError: Another image has the same key.
        """
        other = self.other(key, path)
        if other is not None:
            raise UserError(
                f'{other} and {path} would share {self.what} {key}: set '
                'key_prefix of one data set, or rename a folder or file'
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
