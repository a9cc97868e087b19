"""mmcar: calibrated stochastic segmentation for MMSegmentation.

Importing this package registers every part of it with MMSegmentation, so a
config needs one line: ``custom_imports = dict(imports=['mmcar'])``.
"""

from . import compat

compat.setup()

from . import (  # noqa: E402
    datasets,
    engine,
    evaluation,
    models,
    report,
)
from .version import __version__  # noqa: E402

__all__ = [
    '__version__',
    'datasets',
    'engine',
    'evaluation',
    'models',
    'report',
]
