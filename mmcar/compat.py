"""What today's torch and an ops-free mmcv need to run MMSegmentation.

``import mmcar`` calls `setup`, which does four things and nothing else:

1. `check_versions`: says what is missing or too old or new, and the fix.
2. `provide_mmcv_ops`: official MMSeg imports ``mmcv.ops``, which mmcv-lite
   cannot load; a stand-in takes its place and complains when *used*.
3. `find_stock_configs`: ``mmseg::`` configs are found on the forks too.
4. `load_checkpoints_safely`: MMEngine's checkpoints load with torch's safe
   loader, and a file that would run code is refused.
"""

import contextlib
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import pickle
import sys
import warnings
from types import ModuleType
from typing import Any, NamedTuple

from packaging.version import Version

from .utils.errors import MissingFileError, UserError


class MissingPackageError(ImportError):
    """A package that is missing or of a version that does not work."""


class Requirement(NamedTuple):
    """A package by import name, the versions that work, and the fix."""

    module: str
    minimum: str
    below: str
    fix: str


# In the order in which they import each other, so that the first one that
# does not fit is the cause.
REQUIREMENTS = (
    Requirement('torch', '2.1', '3', "pip install 'torch>=2.1'"),
    Requirement('mmengine', '0.10', '1.0', 'pip install mmengine==0.10.7'),
    Requirement('mmcv', '2.0.0rc4', '3.0', 'pip install mmcv-lite==2.1.0'),
    Requirement('mmseg', '1.2', '2.0', 'pip install mmsegmentation==1.2.2'),
    # MMSeg 1.2.2 imports these two without declaring them.
    Requirement('ftfy', '0', '', 'pip install ftfy'),
    Requirement('regex', '0', '', 'pip install regex'),
)
# From here on MMSeg (the onedl forks) does without mmcv.ops by itself and
# accepts newer mmcv.
MMSEG_WITHOUT_OPS = Version('1.3')
# What a HistoryBuffer registers by default.
STATISTICS = ('min', 'max', 'current', 'mean')


def check_version(requirement: Requirement, found: str | None) -> None:
    """Raise MissingPackageError unless ``found`` is a version that works.

    Args:
        requirement: What is needed.
        found: The installed version; None if the package is missing.
    """
    module, minimum, below, fix = requirement
    needed = f'mmcar needs {module}'
    if below:
        needed += f' >= {minimum}, < {below}'
    if found is None:
        raise MissingPackageError(
            f'{needed}, but it is not installed. Fix: {fix}', name=module
        )
    if below and not Version(minimum) <= Version(found) < Version(below):
        raise MissingPackageError(
            f'{needed}, but version {found} is installed. Fix: {fix}',
            name=module,
        )


def check_versions() -> None:
    """Check every requirement by importing it, the cause first."""
    for requirement in REQUIREMENTS:
        if importlib.util.find_spec(requirement.module) is None:
            check_version(requirement, None)
        try:
            module = importlib.import_module(requirement.module)
        except AssertionError as error:  # MMSeg's own check of mmcv
            mmcv = sys.modules['mmcv'].__version__
            raise MissingPackageError(
                f'The installed {requirement.module} does not work with '
                f'mmcv {mmcv} ({error}). Fix: pip install mmcv-lite==2.1.0',
                name='mmcv',
            ) from error
        check_version(requirement, getattr(module, '__version__', '0'))


def _missing_op(name: str) -> type:
    """Return a class that stands in for an op and cannot be made or called.

    A class, since MMSeg subclasses and type-checks some ops.
    """

    def refuse(*args: object, **kwargs: object) -> None:
        raise MissingPackageError(
            f"mmcv.ops.{name} needs the compiled 'mmcv' package, but only "
            "'mmcv-lite' is installed. Choose a model without compiled ops, "
            "or replace it: pip uninstall mmcv-lite; pip install 'mmcv<2.2'"
        )

    return type(name, (), {'__new__': refuse})


class _OpsStandIn(ModuleType):
    """Module ``mmcv.ops`` in which every name is a missing op."""

    def __getattr__(self, name: str) -> type:
        if name.startswith('__'):  # imports and inspect probe for these
            raise AttributeError(name)
        op = _missing_op(name)
        setattr(self, name, op)
        return op


def provide_mmcv_ops() -> None:
    """Let official MMSeg import with mmcv-lite; else touch nothing."""
    import mmcv
    import mmseg

    if importlib.util.find_spec('mmcv._ext') is not None:
        return  # full mmcv
    if Version(mmseg.__version__) < MMSEG_WITHOUT_OPS:
        mmcv.ops = sys.modules['mmcv.ops'] = _OpsStandIn('mmcv.ops')
    with warnings.catch_warnings():
        # This module warns of one missing op at every start, used or not. The
        # error upon use says more, so importing it once quietly loses
        # nothing; the filter ends with this block.
        warnings.filterwarnings('ignore', message='Fail to import ``Multi')
        importlib.import_module('mmcv.cnn.bricks.transformer')


def find_stock_configs() -> None:
    """Let ``mmseg::`` find the configs of the onedl fork, if that is there.

    MMEngine looks for them under the name of the official package.
    """
    from mmengine.config.utils import MODULE2PACKAGE

    fork = 'onedl-mmsegmentation'
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        importlib.metadata.distribution(fork)
        MODULE2PACKAGE['mmseg'] = fork


def swaps_channels(preprocessor: Any) -> bool:
    """Say whether a data preprocessor swaps BGR and RGB.

    Official MMSeg and the forks keep this under different names. One that
    has neither, such as MMEngine's plain base class, swaps nothing.
    """
    names = ('channel_conversion', '_channel_conversion')
    return any(getattr(preprocessor, name, False) for name in names)


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


def load_from_local(filename: str, map_location: Any = None) -> dict[str, Any]:
    """Load a checkpoint file without running any code it may hold.

    Args:
        filename: Path of the file.
        map_location: As in `torch.load`.

    Returns:
        The checkpoint.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It holds more than data, or is no whole checkpoint.
    """
    import torch

    filename = os.path.expanduser(filename)
    try:
        checkpoint = torch.load(filename, map_location, weights_only=True)
    except FileNotFoundError:
        raise MissingFileError(f'There is no checkpoint {filename}.') from None
    except pickle.UnpicklingError as error:
        reason = str(error).partition('WeightsUnpickler error:')[2]
        reason = reason.partition('. ')[0].strip() or 'not a pickle'
        raise UserError(
            f'Checkpoint {filename} is refused: it holds more than tensors '
            f'and plain data, so loading it could run code ({reason}). Save '
            "its 'state_dict' alone where you trust the file."
        ) from error
    except (RuntimeError, EOFError, OSError) as error:
        raise UserError(
            f'Checkpoint {filename} cannot be read; it may be cut short '
            f'({repr(error).splitlines()[0]}).'
        ) from error
    meta = checkpoint.get('meta') if isinstance(checkpoint, dict) else None
    if isinstance(meta, dict):
        # Runner.resume would run this string, a relic of MMSeg 0.x, as
        # Python to compare numbers of GPUs.
        meta.pop('config', None)
    return checkpoint


def load_checkpoints_safely() -> None:
    """Make MMEngine load checkpoints, local or by URL, without code."""
    import torch
    from mmengine.runner import checkpoint

    if Version(torch.__version__) < Version('2.6'):
        warnings.warn(
            f'torch {torch.__version__} cannot load MMEngine checkpoints '
            'safely (2.6 and newer can): open only files you trust.',
            stacklevel=2,
        )
        return
    torch.serialization.add_safe_globals(allowed_globals())
    checkpoint.CheckpointLoader.register_scheme(
        prefixes='', loader=load_from_local, force=True
    )
    checkpoint.load_from_local = load_from_local
    checkpoint.load_url = functools.partial(
        torch.hub.load_state_dict_from_url, weights_only=True
    )


def setup() -> None:
    """Apply every shim; called once when ``mmcar`` is imported."""
    check_versions()
    provide_mmcv_ops()
    find_stock_configs()
    load_checkpoints_safely()
