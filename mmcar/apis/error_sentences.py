"""Errors that a user can mend, each in one sentence."""

import errno
import re
import socket
import urllib.error

import torch

from ..compat import MissingPackageError
from ..utils.errors import UserError

# What a user can mend; all else is a bug and shows its traceback.
USER_ERRORS = (UserError, MissingPackageError)
NETWORK_ERRORS = (urllib.error.URLError, socket.gaierror, ConnectionError)
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
}
WORKER = 'in DataLoader worker process'


def sentence_of(error: BaseException) -> str | None:
    """Put an error that a user can mend into one sentence.

    Args:
        error: What ended a tool.

    Returns:
        The sentence; None for a bug, whose traceback is worth more.
    """
    if isinstance(error, USER_ERRORS):
        return ' '.join(own_words(error).split()) or repr(error)
    return system_sentence(error)


def system_sentence(error: BaseException) -> str | None:
    """The same for what the machine lacks: rights, space, network, memory."""
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
    if not isinstance(error, OSError) or error.errno not in SYSTEM:
        return None
    where = f'{error.filename}: ' if error.filename else ''
    return f'{where}{SYSTEM[error.errno]}.'


def own_words(error: BaseException) -> str:
    """The message, without the traceback that torch puts before it.

    An error of a worker is raised again with the worker's whole traceback as
    its message; the error's own words come after its name, at the end.
    """
    text = str(error)
    if WORKER not in text:
        return text
    return re.split(r'^[\w.]*Error: ', text, flags=re.MULTILINE)[-1]
