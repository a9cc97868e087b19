"""Segmentors that sample."""

from .car_segmentor import CARSegmentor
from .peers import (
    DeepEnsemble,
    MCDropout,
    ProbabilisticUNet,
    StochasticSegmentationNetwork,
    ViewSegmentor,
)
from .stochastic_segmentor import StochasticSegmentor
from .train_batch import TrainBatch

__all__ = [
    'CARSegmentor',
    'DeepEnsemble',
    'MCDropout',
    'ProbabilisticUNet',
    'StochasticSegmentationNetwork',
    'StochasticSegmentor',
    'TrainBatch',
    'ViewSegmentor',
]
