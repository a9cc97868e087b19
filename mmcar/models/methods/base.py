"""What methods share that learn a distribution of their own."""

from collections.abc import Sequence
from typing import Any

from mmengine.model import ModuleDict
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...sampling import NormalNoise
from ...utils.checks import at_least
from ...utils.precision import log_mean
from ...utils.windows import stitch
from ..black_boxes.base import prior_of
from ..data_preprocessor import InputNorm
from ..parts import build_part
from ..segmentors.stochastic_segmentor import StochasticSegmentor


class PeerSegmentor(StochasticSegmentor):
    """Features of every pixel, from any net, and what a method adds.

    All that trains is one network, ``net``: the net that gives the features
    and the layers a method puts on top of them.

    Args:
        num_classes: Number of classes K.
        net: Config of the net that gives the features: any calibration net,
            as ``MMSegCalibration`` with a backbone and a decode head of
            MMSeg.
        features: Channels of the features, C.
        black_box: Config of a black box, whose probabilities the net sees
            beside the image; None for none.
        mean_samples: Draws whose mean stands for the pixelwise
            probabilities, which have no closed form.
        kwargs: See :class:`StochasticSegmentor`.
    """

    def __init__(
        self,
        num_classes: int,
        net: dict,
        features: int = 32,
        black_box: dict | None = None,
        mean_samples: int = 16,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_classes, **kwargs)
        at_least(1, features=features, mean_samples=mean_samples)
        self.black_box = MODELS.build(black_box) if black_box else None
        if self.black_box is not None:
            norm = InputNorm.of(self.data_preprocessor)
            self.black_box.set_input_norm(norm)
            net = {'black_box_classes': self.black_box.num_classes, **net}
        self.mean_samples = mean_samples
        self.net = ModuleDict(dict(features=build_part('net', net, features)))

    def networks(self) -> dict[str, nn.Module]:
        """One network."""
        return dict(net=self.net)

    def prior(
        self, inputs: Tensor, data_samples: Sequence | None
    ) -> Tensor | None:
        """The black box's probabilities (B, K_b, H, W), if there is one."""
        return prior_of(self.black_box, inputs, data_samples)

    def features(
        self,
        inputs: Tensor,
        prior: Tensor | None = None,
        in_windows: bool = False,
    ) -> Tensor:
        """Features (B, C, H, W) of every pixel.

        Args:
            inputs: Normalised images (B, channels, H, W).
            prior: The black box's probabilities (B, K_b, H, W).
            in_windows: Whether to see large images in windows, if the model
                is set to; where these overlap, it is the mean.
        """

        def see(image: Tensor, own: Tensor | None) -> Tensor:
            return self.net['features'](image, own).float()

        window = self.window_for(inputs) if in_windows else None
        if window is None:
            return see(inputs, prior)
        return stitch(see, inputs, prior, *window)

    def mean_of_draws(self, state: Any, like: Tensor) -> Tensor:
        """Log of the mean probabilities (B, K, H, W) of fixed draws.

        Args:
            state: What `encode` returned.
            like: A tensor (B, ..., H, W) of the same images.
        """
        shape = self.noise_shape((like.shape[-2], like.shape[-1]))
        z = NormalNoise()(['mean'], self.mean_samples, shape, 0, like.device)
        draws = z.expand(-1, len(like), *shape).split(1)
        return log_mean(self.sample(state, one)[0] for one in draws)
