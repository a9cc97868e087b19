"""Reading a pickle of plain data and NumPy arrays, and nothing else."""

import codecs
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mmcar.utils.errors import UserError

CORE = (getattr(np, '_core', None) or np.core).__name__
ALLOWED = {
    ('numpy', 'ndarray'),
    ('numpy', 'dtype'),
    (f'{CORE}.multiarray', '_reconstruct'),
    (f'{CORE}.multiarray', 'scalar'),
    (f'{CORE}.numeric', '_frombuffer'),
}


def _latin1(text: str, encoding: str) -> bytes:
    """How old pickles of Python 3 store bytes."""
    if encoding not in ('latin1', 'latin-1'):
        raise pickle.UnpicklingError(f'bytes encoded as {encoding!r}')
    return codecs.encode(text, 'latin1')


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Callable:
        if (module, name) == ('_codecs', 'encode'):
            return _latin1
        # NumPy 2 renamed numpy.core to numpy._core; pickles carry either.
        module = re.sub(r'^numpy\._?core\b', CORE, module)
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f'it wants to call {module}.{name}')
        return super().find_class(module, name)


def load_plain_pickle(path: str | Path) -> object:
    """Load containers, numbers, strings and NumPy arrays from a pickle.

    A pickle can call any function of Python while it is loaded. Here, only
    what builds a NumPy array is allowed; everything else is refused before it
    runs.

    Args:
        path: The pickle.

    Returns:
        Its content.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is damaged, or holds more than plain data.
    """
    with open(path, 'rb') as file:
        try:
            return _PlainUnpickler(file).load()
        except Exception as error:
            # Damaged pickles raise almost anything; the cause is chained.
            raise UserError(
                f'{path}: refused, {error}; expected a complete pickle of '
                'dicts, lists, strings, numbers and NumPy arrays'
            ) from error
