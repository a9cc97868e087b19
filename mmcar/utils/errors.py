"""A user's mistake looks different from a bug of ours."""

import errno
import socket
import urllib.error
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

NETWORK_ERRORS = (urllib.error.URLError, socket.gaierror)
ROOM = 'free some space, or choose a folder on another disk'
RIGHTS = 'change the rights of the file or folder'
#: What to do about what a system says.
ADVICE = {
    errno.EACCES: RIGHTS,
    errno.EPERM: RIGHTS,
    errno.EROFS: 'choose another folder',
    errno.ENOSPC: ROOM,
    errno.EDQUOT: ROOM,
    errno.EMFILE: 'lower num_workers, or raise the limit (ulimit -n)',
    errno.EADDRINUSE: 'choose another port: PORT=29501 tools/dist_train.sh',
    errno.ENOMEM: 'lower batch_size or num_workers',
}
OUT_OF_MEMORY = "can't allocate memory"  # torch's words, on a CPU
NO_DEVICE = (  # likewise
    'Torch not compiled with',
    'Found no NVIDIA driver',
    'No CUDA GPUs',
    'CUDA error: invalid device',
    'Expected one of cpu, cuda',
)
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


# UNet asserts that it can halve a size, torch that a kernel fits; then SMP.
OF_SIZES = (
    'Kernel size',
    'Output size',
    'Sizes of tensors',
    'The size of',
    'Wrong input shape',
)


@contextmanager
def naming_the_size(size: Sequence[int], advice: str) -> Iterator[None]:
    """Turn errors of networks that cannot take a size into a sentence."""
    try:
        yield
    except (AssertionError, RuntimeError) as error:
        told = any(text in str(error) for text in OF_SIZES)
        if isinstance(error, RuntimeError) and not told:
            raise
        raise UserError(
            f'the model cannot take images of {tuple(size)} pixels '
            f'({error}): set {advice}, or resize them'
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
    if str(error).startswith(NO_DEVICE):
        reason = str(error).partition('\n')[0]
        return f'there is no such device: {reason}; choose another, as cpu.'
    if isinstance(error, MemoryError) or OUT_OF_MEMORY in str(error):
        return f'memory is used up ({error}): {ADVICE[errno.ENOMEM]}.'
    if not isinstance(error, OSError):
        return None
    advice = ADVICE.get(error.errno or 0)
    if not error.filename and not advice:
        return None
    told = error.filename, error.strerror, advice
    return f'{": ".join(str(part) for part in told if part)}.'


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
