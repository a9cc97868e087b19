"""A user's mistake looks different from a bug of ours."""

import errno
import socket
import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager

import torch

NETWORK_ERRORS = (urllib.error.URLError, socket.gaierror)
SYSTEM = {
    errno.EACCES: 'permission denied: change the rights of the file or folder',
    errno.EPERM: 'not permitted: change the rights of the file or folder',
    errno.EROFS: 'the disk is read-only: choose another folder',
    errno.ENOSPC: 'no space left on the disk: free some, or choose another '
    'folder with --work-dir',
    errno.EDQUOT: 'your quota of the disk is used up: free some space, or '
    'choose another folder with --work-dir',
    errno.EISDIR: 'this is a folder; expected a file',
    errno.ENOTDIR: 'a folder of this path is a file',
    errno.ENAMETOOLONG: 'the name is too long: shorten it',
    errno.ENOENT: 'no such file or folder',
    errno.ELOOP: 'a link that leads to itself: remove it',
    errno.EMFILE: 'too many open files: lower num_workers, or raise the limit '
    '(ulimit -n)',
    errno.EADDRINUSE: 'the address is in use: choose another port, e.g. '
    'PORT=29501 before tools/dist_train.sh',
    errno.ENOMEM: 'memory is used up: lower batch_size or num_workers',
}
OUT_OF_MEMORY = "can't allocate memory"  # torch's words, on a CPU
WORKER = 'in DataLoader worker process'
KILLED = 'DataLoader worker (pid'  # torch's words for one that is gone


class UserError(ValueError):
    """Input that cannot work.

    The message names the file, key or value, says what was expected and what
    to do. Tools print it as one sentence and exit with code 2; every other
    exception is a bug and shows its traceback.
    """


class MissingFileError(UserError, FileNotFoundError):
    """A file or folder that is named somewhere does not exist."""


class NonFiniteError(UserError):
    """Values that must be finite are NaN or infinite."""


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Let a missing package name the extra of mmcar that brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise UserError(
            f'{error.name} is not installed, which is needed here: pip '
            f"install 'mmcar[{extra}]'"
        ) from error


def sentence_of(error: BaseException) -> str | None:
    """Put an error that a user can mend into words.

    Args:
        error: What ended a tool.

    Returns:
        The words; None for a bug, whose traceback is worth more.
    """
    if isinstance(error, UserError):
        text = words_of(error) or repr(error)
        # Findings about a config have a line each.
        return text if hasattr(error, 'findings') else ' '.join(text.split())
    if isinstance(error, torch.cuda.OutOfMemoryError):
        return (
            'the GPU has too little memory: lower train_dataloader.batch_size '
            'or model.train_cfg.num_samples, or set '
            'model.train_cfg.samples_per_chunk.'
        )
    if isinstance(error, NETWORK_ERRORS):
        what = getattr(error, 'url', None) or getattr(error, 'reason', error)
        return (
            f'the network cannot be reached ({what}): check the connection, '
            'or download the file elsewhere and name its path in the config.'
        )
    if isinstance(error, ConnectionError) or KILLED in str(error):
        return (
            f'the connection to another process or machine broke ({error}). '
            'If a process was killed, often for lack of memory, lower '
            'num_workers or the batch size.'
        )
    if isinstance(error, MemoryError) or OUT_OF_MEMORY in str(error):
        return f'{SYSTEM[errno.ENOMEM]} ({error}).'
    if not isinstance(error, OSError) or error.errno not in SYSTEM:
        return None
    where = f'{error.filename}: ' if error.filename else ''
    return f'{where}{SYSTEM[error.errno]}.'


def words_of(error: BaseException) -> str:
    """The message of an error; others than a user's with their type.

    An error of a loader's worker is raised again with the worker's whole
    traceback as its message; the error's own words come last.
    """
    text = str(error).strip()
    if WORKER in text:
        text = text.rpartition('Error: ')[2]
    if isinstance(error, UserError):
        return text
    return f'{type(error).__name__}: {text} (--debug shows where.)'
