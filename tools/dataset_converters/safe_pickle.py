"""Reading a pickle of plain data and NumPy arrays, and nothing else."""

import codecs
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mmcar.utils.errors import UserError

_core = getattr(np, '_core', None) or np.core


def _latin1(text: str, encoding: str) -> bytes:
    """How old pickles of Python 3 store bytes."""
    if encoding not in ('latin1', 'latin-1'):
        raise pickle.UnpicklingError(f'bytes encoded as {encoding!r}')
    return codecs.encode(text, 'latin1')


# NumPy 2 renamed numpy.core to numpy._core; pickles carry either name.
_ALLOWED = {
    ('numpy', 'ndarray'): np.ndarray,
    ('numpy', 'dtype'): np.dtype,
    ('_codecs', 'encode'): _latin1,
    **{
        (f'numpy.{core}.{module}', name): getattr(getattr(_core, module), name)
        for core in ('core', '_core')
        for module, name in (
            ('multiarray', '_reconstruct'),
            ('multiarray', 'scalar'),
            ('numeric', '_frombuffer'),
        )
    },
}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Callable:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(
                f'it wants to call {module}.{name}'
            ) from None


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
