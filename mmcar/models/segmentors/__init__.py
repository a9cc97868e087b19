"""The base of all that samples, and CAR."""

from .car_segmentor import CARSegmentor
from .stochastic_segmentor import StochasticSegmentor
from .training import TrainBatch
