import errno
import urllib.error

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from mmcar.utils.errors import (
    MissingFileError,
    UserError,
    needing,
    sentence_of,
)


class Broken(Dataset):
    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 2

    def __getitem__(self, index):
        raise self.error


def raised_by_a_worker(error: Exception) -> Exception:
    with pytest.raises(type(error)) as caught:
        next(iter(DataLoader(Broken(error), num_workers=1)))
    assert 'Traceback' in str(caught.value), 'torch adds the traceback'
    return caught.value


@pytest.mark.parametrize('kind', [UserError, MissingFileError])
def test_a_mistake_found_by_a_worker_is_one_sentence(kind):
    error = raised_by_a_worker(kind('a.png: there is\nno such image'))
    assert sentence_of(error) == 'a.png: there is no such image'


def test_a_bug_in_a_worker_keeps_its_traceback():
    error = raised_by_a_worker(ZeroDivisionError('x'))
    assert sentence_of(error) is None


@pytest.mark.parametrize(
    ('error', 'words'),
    [
        (PermissionError(errno.EACCES, 'x', '/a/b'), '/a/b: x: change the'),
        (OSError(errno.ENOSPC, 'x'), 'free some space'),
        (IsADirectoryError(errno.EISDIR, 'a folder', '/a'), '/a: a folder.'),
        (OSError(errno.EMFILE, 'x'), 'num_workers'),
        (MemoryError('8 GB'), 'batch_size'),
        (RuntimeError("x: can't allocate memory: 8 bytes"), '8 bytes'),
        (urllib.error.URLError('no name'), 'network cannot be reached'),
        (ConnectionResetError('by peer'), 'process or machine'),
        (RuntimeError('DataLoader worker (pid 9) is killed'), 'num_workers'),
        (torch.cuda.OutOfMemoryError('x'), 'batch_size'),
        (AssertionError('Torch not compiled with CUDA enabled'), 'no such d'),
        (RuntimeError('Expected one of cpu, cuda, x: gpu'), 'gpu; choose'),
    ],
)
def test_what_the_machine_lacks(error, words):
    assert words in sentence_of(error)


@pytest.mark.parametrize('error', [OSError(errno.EIO, 'x'), KeyError('x')])
def test_a_bug_has_no_sentence(error):
    assert sentence_of(error) is None


def test_a_missing_package_names_what_brings_it():
    missing = pytest.raises(UserError, match=r'no_such.*mmcar\[figures\]')
    with missing, needing('figures'):
        import no_such  # noqa: F401
