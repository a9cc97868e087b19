"""Other methods that sample, for comparison and for use."""

from .deep_ensemble import DeepEnsemble
from .exact_margins import ExactMargins
from .flow_ssn import FlowSSN
from .mc_dropout import MCDropout
from .prob_unet import ProbabilisticUNet
from .ssn import StochasticSegmentationNetwork
from .tta import TTASegmentor
