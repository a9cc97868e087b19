"""What the installed stack must be, and a stand-in for mmcv.ops."""

import importlib
import importlib.util
import sys
import warnings
from types import ModuleType
from typing import Any, NamedTuple

from packaging.version import Version

from ..utils.errors import UserError


class MissingPackageError(ImportError, UserError):
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


def swaps_channels(preprocessor: Any) -> bool:
    """Say whether a data preprocessor swaps BGR and RGB.

    Official MMSeg and the forks keep this under different names. One that
    has neither, such as MMEngine's plain base class, swaps nothing.
    """
    names = ('channel_conversion', '_channel_conversion')
    return any(getattr(preprocessor, name, False) for name in names)
