"""mmcar: calibrated stochastic segmentation for MMSegmentation.

Importing this package registers every part of it with MMSegmentation, so a
config needs one line: ``custom_imports = dict(imports=['mmcar'])``. Where
MMSegmentation is not installed, there is what does without it: `sampling`,
`structures` and the functions of `evaluation`.
"""

from importlib.util import find_spec

from .version import __version__

__all__ = [
    'StochasticInferencer',
    '__version__',
    'bounds',
    'calibration',
    'evaluation',
    'ged',
    'hm_iou',
    'hypotheses',
    'sample_labels',
    'sampling',
    'structures',
    'wrap',
]

if find_spec('mmseg') is not None:
    from . import compat

    compat.setup()

    from . import datasets, engine, models, report

    __all__ += ['datasets', 'engine', 'models', 'report']

from . import evaluation, sampling, structures
from .evaluation.functional import bounds, calibration, ged, hm_iou, hypotheses
from .inference.inferencer import StochasticInferencer
from .inference.wrapped_sampler import WrappedSampler as wrap
from .sampling import sample_labels
