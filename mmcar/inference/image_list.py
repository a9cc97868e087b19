"""Images in every form that people have them, listed by names of their own."""

import glob
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np

from ..utils.errors import MissingFileError, UserError
from ..utils.files import IMAGE_SUFFIXES, natural_key


class ImageInput(NamedTuple):
    """One image to predict.

    Attributes:
        name: Relative name of the files that are written for it.
        path: Its file; None for an array.
        array: Its pixels (H, W) or (H, W, C), BGR; None for a file.
    """

    name: str
    path: str | None = None
    array: np.ndarray | None = None


OneInput = str | Path | np.ndarray | ImageInput
Inputs = OneInput | Sequence[OneInput]


class LoadedImage(NamedTuple):
    """An image on its way into the model.

    Attributes:
        name: See `ImageInput`.
        path: See `ImageInput`.
        picture: RGB (H, W, 3) uint8 at the original size, to be drawn on.
        packed: What the test pipeline made of it, or `WrappedSampler` takes.
    """

    name: str
    path: str | None
    picture: np.ndarray
    packed: dict


def list_images(inputs: Inputs) -> list[ImageInput]:
    """Find all images that are meant.

    Args:
        inputs: A file, a folder (its images in any depth), a glob pattern, an
            array, or several of them. An image that is meant twice counts
            once.

    Returns:
        The images, each with a name of its own: the path below the deepest
        folder that has all of them, without suffix (``0_jpg`` and ``0_png``
        where only that differs), and ``array_<number>``.
    """
    single = isinstance(inputs, OneInput)
    if not single and not isinstance(inputs, Sequence):
        raise _refusal('inputs', inputs)
    found: list[ImageInput] = []
    paths: dict[str, None] = {}  # in their order, each once
    for number, one in enumerate([inputs] if single else inputs):
        if isinstance(one, ImageInput):
            found.append(one)
        elif isinstance(one, np.ndarray):
            found.append(ImageInput(f'array_{number:03d}', array=one))
        elif isinstance(one, str | Path):
            new = [p for p in _expand(str(one)) if p not in paths]
            paths.update(dict.fromkeys(new))
            found += [ImageInput('', path) for path in new]
        else:
            raise _refusal(f'inputs[{number}]', one)
    if not found:
        raise UserError('There is no image to predict.')
    given = [image.name for image in found if image.name]
    if len(set(given)) < len(given):
        raise UserError(
            f'Two images have the name {Counter(given).most_common(1)[0][0]}: '
            'list the images of all folders at once.'
        )
    names = _names(list(paths), set(given))
    return [
        image if image.name else image._replace(name=names[image.path])
        for image in found
    ]


def _refusal(where: str, value: object) -> UserError:
    return UserError(
        f'{where} is of type {type(value).__name__}: expected the path of a '
        'file or folder, a pattern, a NumPy array of pixels (H, W) or '
        '(H, W, C), or a list of these.'
    )


def _expand(text: str) -> list[str]:
    """Absolute paths of the images that a path or pattern means.

    Links that lead nowhere are among them: reading them says so.
    """
    if os.path.isdir(text):
        files = _images_below(text)
        if not files:
            raise UserError(f'{text}: no images {IMAGE_SUFFIXES} in it')
    elif os.path.lexists(text):
        files = [text]  # also where its name looks like a pattern
    else:
        found = glob.glob(text, recursive=True)
        files = [f for f in found if _is_image(f) and not os.path.isdir(f)]
        if not files:
            raise MissingFileError(
                f'{text}: no such image; expected an image file, a folder of '
                'images or a pattern such as "images/*.png"'
            )
    return sorted(map(os.path.abspath, files), key=natural_key)


def _is_image(path: str) -> bool:
    return path.lower().endswith(IMAGE_SUFFIXES)


def _images_below(root: str) -> list[str]:
    """All images in any depth; no folder twice, whatever links to it."""
    found, seen = [], set()
    for folder, folders, files in os.walk(root, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        files = [f for f in files if _is_image(f) and not f.startswith('.')]
        found += [os.path.join(folder, file) for file in files]
    return found


def _names(paths: Sequence[str], taken: set[str]) -> dict[str, str]:
    """A name of its own for every path, none of those that are taken."""
    if not paths:
        return {}
    root = os.path.commonpath([os.path.dirname(path) for path in paths])
    files = {path: PurePath(os.path.relpath(path, root)) for path in paths}
    # What ends as a file of another image would stand in its way.
    stems = {
        path: re.sub(
            r'\.(png|npz)(?=/|$)', r'_\1', file.with_suffix('').as_posix()
        )
        for path, file in files.items()
    }
    shared, names = Counter([*stems.values(), *taken]), {}
    taken = taken | {stem for stem in stems.values() if shared[stem] == 1}
    for path, stem in stems.items():
        if shared[stem] > 1:
            stem += files[path].suffix.replace('.', '_')
            while stem in taken:
                stem += '_'
            taken.add(stem)
        names[path] = stem
    return names


def input_shape(image: LoadedImage) -> tuple[int, ...]:
    """Shape (C, H, W) of an image as the model gets it."""
    inputs = image.packed['inputs']
    if isinstance(inputs, Sequence | Mapping):
        raise UserError(
            f'{image.name}: the test pipeline makes several images of one, '
            'as test-time augmentation does: expected a plain pipeline.'
        )
    return tuple(inputs.shape)
