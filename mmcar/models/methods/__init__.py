"""Other methods that sample, for comparison and for use."""

from .exact_margins import ExactMargins
from .flow_ssn import FlowSSN
from .mc_dropout import MCDropout
from .mixture import DeepEnsemble, TTASegmentor
from .prob_unet import ProbabilisticUNet
from .ssn import StochasticSegmentationNetwork
