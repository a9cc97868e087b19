"""One gate before every checkpoint: data comes in, code does not.

Everything of MMEngine and MMSegmentation that opens a checkpoint, by path,
URL or any registered scheme, calls ``CheckpointLoader.load_checkpoint``; the
gate stands there.
"""

import contextlib
import hashlib
import os
import pickle
import re
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlparse

from packaging.version import Version

from ..utils.errors import MissingFileError, UserError
from ..utils.files import archive_damage
from .configs import is_plain_config
from .console import is_quiet

# What a HistoryBuffer registers by default.
STATISTICS = ('min', 'max', 'current', 'mean')
# Stock weights end in the first digits of their SHA-256, others in a date.
HASH = re.compile(r'-([0-9a-f]{8,64})\.pth$')
# What torch has to say, among its advice.
REASON = re.compile(
    r'(?:WeightsUnpickler error:|Trying to load)\s+'
    r'(?!Unsupported operand)(.+?)(?:\. |\.?\n|$)'
)
SAFE = {  # variables that torch obeys
    'TORCH_FORCE_WEIGHTS_ONLY_LOAD': '1',
    'TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD': '0',
}
DATE = re.compile(r'(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])')


def _statistic(owner: type, name: str) -> Any:
    """Look up a statistic of HistoryBuffer; refuse all else.

    Stands in for ``getattr``, by which a log buffer's pickle names its
    methods: allowing the real one would open every attribute there is.
    """
    from mmengine.logging.history_buffer import HistoryBuffer

    if owner is not HistoryBuffer or name not in STATISTICS:
        raise pickle.UnpicklingError(
            f'WeightsUnpickler error: Unsupported attribute {name} of {owner}'
        )
    return getattr(HistoryBuffer, name)


def allowed_globals() -> list[Any]:
    """List what MMEngine's checkpoints hold besides tensors: log buffers."""
    import numpy as np
    from mmengine.logging.history_buffer import HistoryBuffer

    multiarray = (getattr(np, '_core', None) or np.core).multiarray
    return [
        HistoryBuffer,
        (_statistic, 'builtins.getattr'),
        multiarray._reconstruct,
        multiarray.scalar,
        np.ndarray,
        np.dtype,
        *{type(np.dtype(code)) for code in 'bhilqBHILQefd?'},
        # Checkpoints written under NumPy 1 name the old module.
        (multiarray._reconstruct, 'numpy.core.multiarray._reconstruct'),
        (multiarray.scalar, 'numpy.core.multiarray.scalar'),
    ]


@contextlib.contextmanager
def _plain_data_only() -> Iterator[None]:
    """Make every `torch.load` inside a safe one, whatever its arguments.

    The forks, and loaders that others register, may ask for the unsafe one.
    """
    before = {name: os.environ.get(name) for name in SAFE}
    os.environ.update(SAFE)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


@contextlib.contextmanager
def _explained(filename: str) -> Iterator[None]:
    """Turn whatever reading a checkpoint raises into a sentence."""
    try:
        yield
    except UserError:
        raise
    except FileNotFoundError:
        raise MissingFileError(f'There is no checkpoint {filename}.') from None
    except pickle.UnpicklingError as error:
        found = REASON.search(str(error))
        reason = found[1] if found else 'not a pickle'
        raise UserError(
            f'Checkpoint {filename} is refused: loading it could run code '
            f"({reason}). Save its 'state_dict' alone where you trust it."
        ) from error
    except Exception as error:  # a damaged file can raise anything
        reason = (repr(error).splitlines() or [''])[0]
        raise UserError(
            f'Checkpoint {filename} cannot be read here ({reason}). A file '
            'may be cut short or damaged, an address wrong, the network down.'
        ) from error


def published_hash(url: str) -> str | None:
    """The first digits of a file's SHA-256, if its name has them.

    Args:
        url: Its file name ends in ``-<digits>.pth`` by the convention of
            OpenMMLab and PyTorch; a date in that place is no hash.
    """
    match = HASH.search(urlparse(url).path)
    return None if match is None or DATE.fullmatch(match[1]) else match[1]


def load_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
) -> Any:
    """Load a checkpoint by URL; check its hash if its name has one.

    Args:
        url: Address; the file is kept, and used the next time. Without a
            hash, its name may be that of other files elsewhere: it is then
            kept under a name of the whole address.
        model_dir: Where it is kept; default: torch's folder.
        map_location: As in `torch.load`.
        progress: Whether to show a progress bar.

    Returns:
        The checkpoint.

    Raises:
        UserError: What came is not what was published.
    """
    import torch

    model_dir = model_dir or os.path.join(torch.hub.get_dir(), 'checkpoints')
    name = os.path.basename(urlparse(url).path)
    expected = published_hash(url)
    if expected is None:
        name = f'{hashlib.sha256(url.encode()).hexdigest()[:16]}_{name}'
    path = os.path.join(model_dir, name)
    fresh = not os.path.exists(path)
    try:
        if fresh:
            os.makedirs(model_dir, exist_ok=True)
            torch.hub.download_url_to_file(url, path, None, progress)
        with open(path, 'rb') as file:
            found = hashlib.sha256(file.read()).hexdigest()
        if not found.startswith(expected or ''):
            raise UserError(
                f'Checkpoint {url} is refused: {path}, kept of it, is not '
                'what was published under that name. Remove that file.'
            )
        return load_from_local(path, map_location)
    except Exception:
        if fresh:  # nobody is served by keeping it, e.g. a page of a proxy
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)
        raise


def load_from_local(filename: str, map_location: Any = None) -> Any:
    """Load a checkpoint file.

    Args:
        filename: Path of the file.
        map_location: As in `torch.load`.
    """
    import torch

    path = os.path.expanduser(filename)
    # Torch would read what checksums say is damaged.
    problem = archive_damage(path) if zipfile.is_zipfile(path) else None
    if problem is not None:
        raise UserError(f'Checkpoint {path} is damaged: {problem}.')
    return torch.load(path, map_location, weights_only=True)


def without_code(checkpoint: Any, filename: str) -> Any:
    """Drop the texts of a checkpoint that others would run as Python.

    Args:
        checkpoint: As it was loaded.
        filename: Where it came from, for the warning.
    """
    parts: Any = checkpoint if isinstance(checkpoint, dict) else {}
    hub = parts.get('message_hub')
    info = hub.get('runtime_info') if isinstance(hub, dict) else None
    # Inferencers take their config from here.
    for texts in [t for t in (parts.get('meta'), info) if isinstance(t, dict)]:
        # A relic of MMSeg 0.x: Runner.resume runs it to compare numbers of
        # GPUs.
        texts.pop('config', None)
        if not is_plain_config(texts.get('cfg', '')):
            del texts['cfg']
            warnings.warn(
                f'Checkpoint {filename}: its config holds more than plain '
                'data and is left out.',
                stacklevel=2,
            )
    return checkpoint


def load_checkpoints_safely() -> None:
    """Put the gate before MMEngine's checkpoint loader; once is enough."""
    import torch
    from mmengine.runner import checkpoint

    loader = checkpoint.CheckpointLoader
    if getattr(loader.load_checkpoint, 'is_gate', False):
        return
    safe = Version(torch.__version__) >= Version('2.6')
    if safe:
        torch.serialization.add_safe_globals(allowed_globals())
        loader.register_scheme(prefixes='', loader=load_from_local, force=True)
        checkpoint.load_from_local = load_from_local
        checkpoint.load_url = load_url
    else:
        warnings.warn(
            f'torch {torch.__version__} cannot load MMEngine checkpoints '
            'safely (2.6 and newer can): open only files you trust.',
            stacklevel=2,
        )
    ungated = loader.load_checkpoint

    def load_checkpoint(
        filename: str, map_location: Any = None, logger: Any = 'current'
    ) -> Any:
        """Load a checkpoint by path or URL without running code of it."""
        guard = _plain_data_only() if safe else contextlib.nullcontext()
        if logger is None and is_quiet():
            logger = 'current'  # not by print
        with _explained(filename), guard:
            loaded = ungated(filename, map_location, logger)
        return without_code(loaded, filename)

    load_checkpoint.is_gate = True  # type: ignore[attr-defined]
    loader.load_checkpoint = staticmethod(load_checkpoint)
