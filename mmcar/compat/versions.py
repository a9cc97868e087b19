"""What the installed stack must be, and what stands in for its parts."""

import functools
import importlib
import importlib.util
import sys
import warnings
from types import ModuleType
from typing import Any

from packaging.version import Version

from ..utils.errors import UserError


class MissingPackageError(ImportError, UserError):
    """A package that is missing or of a version that does not work."""


# Packages by import name, the versions that work, and what to install; in the
# order in which they import each other: the first that does not fit is the
# cause.
REQUIREMENTS = (
    ('torch', '2.1', '3', "'torch>=2.1'"),
    ('mmengine', '0.10', '1.0', 'mmengine==0.10.7'),
    ('mmcv', '2.0.0rc4', '3.0', 'mmcv-lite==2.1.0'),
    ('mmseg', '1.2', '2.0', 'mmsegmentation==1.2.2'),
    # MMSeg 1.2.2 imports these two without declaring them.
    ('ftfy', '0', '', 'ftfy'),
    ('regex', '0', '', 'regex'),
)
# From here on MMSeg (the onedl forks) does without mmcv.ops by itself and
# accepts newer mmcv.
MMSEG_WITHOUT_OPS = Version('1.3')


def check_version(
    requirement: tuple[str, str, str, str], found: str | None
) -> None:
    """Raise MissingPackageError unless ``found`` is a version that works.

    Args:
        requirement: One of `REQUIREMENTS`.
        found: The installed version; None if the package is missing.
    """
    module, minimum, below, fix = requirement
    needed = f'{module} >= {minimum}, < {below}' if below else module
    if found is None or (
        below and not Version(minimum) <= Version(found) < Version(below)
    ):
        text = f'mmcar needs {needed}; found: {found}. Fix: pip install {fix}'
        raise MissingPackageError(text, name=module)


def check_versions() -> None:
    """Check every requirement by importing it, the cause first."""
    for requirement in REQUIREMENTS:
        name = requirement[0]
        if importlib.util.find_spec(name) is None:
            check_version(requirement, None)
        try:
            module = importlib.import_module(name)
        except AssertionError as error:  # MMSeg's own check of mmcv
            text = f'{name} does not work with the installed mmcv ({error}).'
            raise MissingPackageError(
                f'{text} Fix: pip install mmcv-lite==2.1.0', name='mmcv'
            ) from error
        check_version(requirement, getattr(module, '__version__', '0'))


class _OpsStandIn(ModuleType):
    """Module ``mmcv.ops`` in which every name is an op that is missing.

    A class that cannot be made: MMSeg subclasses and type-checks some ops.
    """

    def __getattr__(self, name: str) -> type:
        if name.startswith('__'):  # imports and inspect probe for these
            raise AttributeError(name)

        def refuse(*args: object, **kwargs: object) -> None:
            raise MissingPackageError(
                f'mmcv.ops.{name} is not in mmcv-lite. Choose another model, '
                "or: pip uninstall mmcv-lite; pip install 'mmcv<2.2'"
            )

        op = type(name, (), {'__new__': refuse})
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


def let_inferencers_load_images() -> None:
    """Let ``MMSegInferencer`` run pipelines that begin with our loader.

    It looks for MMSeg's loader by name, to put one in its place that takes
    arrays and paths alike. Ours does that by itself, at full depth.
    """
    from mmcv.transforms import Compose
    from mmseg.apis import MMSegInferencer

    original = MMSegInferencer._init_pipeline

    @functools.wraps(original)
    def init_pipeline(self: Any, cfg: Any) -> Any:
        pipeline = cfg.test_dataloader.dataset.pipeline
        if pipeline and pipeline[0]['type'] == 'LoadCheckedImage':
            return Compose(pipeline)
        return original(self, cfg)

    MMSegInferencer._init_pipeline = init_pipeline
