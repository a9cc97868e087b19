"""Files that are whole or absent, and paths that stay where they belong."""

import errno
import json
import os
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import BinaryIO

from .errors import UserError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

IMAGE_SUFFIXES = (
    *('.png', '.jpg', '.jpeg', '.bmp', '.gif', '.webp'),
    *('.tif', '.tiff', '.ppm', '.pgm', '.pnm'),
)
PART = '.part'
IN_USE = (errno.EACCES, errno.EAGAIN)  # what a lock of another raises
FOLDER = 0x10  # in the attributes of a zip archive's entry


class InUseError(UserError):
    """Another process writes there."""


def write_file(path: str | Path, data: bytes) -> None:
    """Write a file that is never seen half written, not even after a crash.

    Args:
        path: The file; its folders are made.
        data: Its content.
    """
    write_files({Path(path): data}.items())


def write_files(files: Iterable[tuple[Path, bytes]]) -> None:
    """Write several files as `write_file` does, in less time.

    Args:
        files: Paths and contents; each is asked for when it is due.
    """
    folders = set()
    for path, data in files:
        if path.parent not in folders:
            path.parent.mkdir(parents=True, exist_ok=True)
            folders.add(path.parent)
        part = path.with_name(path.name + PART)
        try:
            with open(part, 'wb') as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except OSError as error:
            part.unlink(missing_ok=True)  # room for others on a full disk
            error.filename = error.filename or str(path)
            raise
    for folder in folders:
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)  # else new names may not outlive a crash
        finally:
            os.close(opened)


def write_json(path: str | Path, content: object) -> None:
    """Write a JSON file, whole or not at all."""
    write_file(path, (json.dumps(content, indent=2) + '\n').encode())


def read_json(path: str | Path) -> dict:
    """Read a JSON file that holds an object.

    Raises:
        UserError: It holds something else.
    """
    try:
        content = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise UserError(
            f'{path}: no JSON that can be read ({error}): make it again'
        ) from error
    if not isinstance(content, dict):
        raise UserError(f'{path}: expected a JSON object of names and values')
    return content


def claim_folder(folder: str | Path) -> BinaryIO:
    """Keep other processes out of a folder, as long as this one lives.

    Args:
        folder: The folder; it is made.

    Returns:
        The lock. Closing it gives the folder free, as does the end of this
        process.

    Raises:
        InUseError: Another process has claimed it (not known on Windows).
        UserError: Its file system keeps no locks.
    """
    path = Path(folder) / '.lock'
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = open(path, 'ab')  # noqa: SIM115 (stays open)
    if fcntl is None:
        return lock
    try:
        # Of a process, not of a file handle: a run that failed in this one
        # must not keep the next one out.
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        if error.errno not in IN_USE:
            raise UserError(
                f'{folder} cannot be locked ({error.strerror}): its file '
                "system does not keep processes out of each other's way. "
                'Choose a folder of another disk.'
            ) from error
        raise InUseError(
            f'{folder} is in use by another process: wait for it, or choose '
            'another folder, e.g. by --work-dir.'
        ) from error
    return lock


def archive_damage(path: str | Path) -> str | None:
    """Say what is wrong with a zip archive, as torch writes them.

    Torch itself does not look at checksums: it reads a flipped bit as it is.

    Args:
        path: The file.

    Returns:
        What is damaged; None if nothing is. Of fields without a checksum,
        such as lengths, only reading them tells.

    Raises:
        zipfile.BadZipFile: It is no archive, or cut short.
    """
    with zipfile.ZipFile(path) as archive:
        broken = archive.testzip()
        entries = archive.infolist()
    folders = [e.filename for e in entries if e.external_attr & FOLDER]
    if broken is not None:
        return f'{broken} inside it is damaged'
    if folders:  # torch would read nothing and give what memory holds
        return f'{folders[0]} inside it is marked as a folder'
    return None


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


def natural_key(name: str) -> list:
    """Sort key that puts ``a10`` after ``a9``."""
    return [
        int(part) if part.isdecimal() else part
        for part in re.split(r'(\d+)', name)
    ]
