"""What today's torch and an ops-free mmcv need to run MMSegmentation."""

import importlib
import sys
from types import ModuleType


class _MissingOp:
    """Stands in for a compiled mmcv op; raises only when it is used."""


def _missing_op(name: str) -> type:
    def refuse(*args: object, **kwargs: object) -> None:
        raise ImportError(
            f"mmcv.ops.{name} needs the compiled 'mmcv' package, but "
            "'mmcv-lite' is installed. Install full mmcv to use it, or choose "
            'a model without compiled ops.'
        )

    return type(name, (_MissingOp,), {'__new__': refuse})


class _OpsStandIn(ModuleType):
    def __getattr__(self, name: str) -> type:
        if name.startswith('__'):
            raise AttributeError(name)
        return _missing_op(name)


def provide_mmcv_ops() -> None:
    """Let MMSeg import with mmcv-lite; leave a working mmcv untouched."""
    try:
        importlib.import_module('mmcv.ops')
    except ModuleNotFoundError:
        sys.modules['mmcv.ops'] = _OpsStandIn('mmcv.ops')


def allow_checkpoint_classes() -> None:
    """Let torch's safe loader read what MMEngine puts into checkpoints."""
    import numpy as np
    import torch
    from mmengine.logging.history_buffer import HistoryBuffer

    if not hasattr(torch.serialization, 'add_safe_globals'):
        return
    multiarray = getattr(np, '_core', None) or np.core
    torch.serialization.add_safe_globals(
        [
            HistoryBuffer,
            multiarray.multiarray._reconstruct,
            multiarray.multiarray.scalar,
            np.ndarray,
            np.dtype,
            *{type(np.dtype(t)) for t in 'bhilqBHILQefd?'},
        ]
    )


def setup() -> None:
    """Apply every shim; called once when ``mmcar`` is imported."""
    provide_mmcv_ops()
    allow_checkpoint_classes()
