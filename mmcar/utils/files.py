"""Files that are whole or absent, and paths that stay where they belong."""

import json
import os
from pathlib import Path, PurePath

from .errors import UserError

PART = '.part'


def write_file(path: str | Path, data: bytes) -> None:
    """Write a file that is never seen half written, not even after a crash.

    Args:
        path: The file; its folders are made.
        data: Its content.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + PART)
    with open(part, 'wb') as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # else the new name may not outlive a crash
    finally:
        os.close(folder)


def write_json(path: str | Path, content: object) -> None:
    """Write a JSON file, whole or not at all."""
    write_file(path, (json.dumps(content, indent=2) + '\n').encode())


def inside(folder: str | Path, name: str | PurePath) -> Path:
    """The path of a file below a folder.

    Args:
        folder: The folder.
        name: Path relative to it, from a file or a data set.

    Raises:
        UserError: The name is absolute or leads out of the folder.
    """
    relative = PurePath(name)
    if relative.is_absolute() or '..' in relative.parts:
        raise UserError(
            f'{str(name)!r} leads out of {folder}: expected a path inside '
            "it, without '..' and not absolute."
        )
    return Path(folder) / relative
