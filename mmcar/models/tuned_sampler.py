"""The Gumbel sampler on class scores that the losses of its samples tune."""

from typing import Any

from mmseg.registry import MODELS
from torch import Tensor

from .car_head import build_part
from .generators import GumbelSampler


@MODELS.register_module()
class TunedSampler(GumbelSampler):
    """:class:`GumbelSampler` on a net of its own in place of F.

    F has learnt what each pixel is by cross entropy, pixel by pixel. Where
    that is the bottleneck, because F errs more than annotators differ, losses
    of whole samples (``EnergyLoss``, ``MatchingLoss``) train this net towards
    maps that score better. Start it from F's weights with ``net.init_cfg``:
    before its first step the sampler is the training-free one on F.

    Samples of all noise vectors share one run of the net, so that training
    costs about as much as training F, whatever their number.

    Args:
        num_classes: Number of classes, K.
        net: Config of the net, any calibration net that sees the image only.
        net_temperature: Divides the net's logits, as the head's
            ``temperature`` divides F's.
        kwargs: Arguments of :class:`GumbelSampler`. Training needs a
            ``temperature`` above 0.
    """

    def __init__(
        self,
        num_classes: int,
        net: dict,
        net_temperature: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_classes, **kwargs)
        if net_temperature <= 0:
            raise ValueError(
                f'net_temperature={net_temperature!r}: expected > 0'
            )
        self.net = build_part('generator.net', net, num_classes)
        self.net_temperature = net_temperature

    def encode(self, image: Tensor, log_probs: Tensor) -> Tensor:
        """Return the net's log-probabilities (B, K, H, W)."""
        logits = self.net(image).float() / self.net_temperature
        return logits.log_softmax(dim=1)
