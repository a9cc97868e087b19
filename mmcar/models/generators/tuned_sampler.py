"""The Gumbel sampler on class scores that the losses of its samples tune."""

from typing import Any

from mmseg.registry import MODELS
from torch import Tensor

from ...utils.checks import positive
from ...utils.errors import UserError
from ...utils.precision import safe_log
from ...utils.windows import stitch, window_for
from ..parts import build_part
from .gumbel_sampler import GumbelSampler


@MODELS.register_module()
class TunedSampler(GumbelSampler):
    """:class:`GumbelSampler` on a net of its own in place of F.

    F has learnt what each pixel is by cross entropy, pixel by pixel. Where
    that is the bottleneck, because F errs more than annotators differ, losses
    of whole samples (``EnergyLoss``, ``MatchingLoss``) train this net towards
    maps that score better. Give it F's config, and F's weights by
    ``net.init_cfg``: before its first step the sampler is the training-free
    one on F, with ``net_temperature`` as F's temperature. F itself does not
    change, nor what is reported of it: decision, mIoU, calibration.

    Samples of all noise vectors share one run of the net, so that training
    costs about as much as training F, whatever their number.

    Args:
        num_classes: Number of classes, K.
        net: Config of the net, any calibration net that sees the image only.
        net_temperature: Divides the net's logits.
        temperature: Divides the logits of samples, noise included. Losses
            have no gradient at 0, so it must be above.
        kwargs: Other arguments of :class:`GumbelSampler`.
    """

    needs_calibration = False

    def __init__(
        self,
        num_classes: int,
        net: dict,
        net_temperature: float = 1.0,
        temperature: float = 0.1,
        **kwargs: Any,
    ) -> None:
        positive(net_temperature=net_temperature, temperature=temperature)
        super().__init__(num_classes, temperature=temperature, **kwargs)
        self.net = build_part('generator.net', net, num_classes)
        if getattr(self.net, 'black_box_classes', 0):
            raise UserError(
                'generator.net.black_box_classes='
                f'{self.net.black_box_classes}: expected 0, as G does not see '
                'the black box'
            )
        self.net_temperature = net_temperature

    @property
    def independent_samples(self) -> bool:
        """Always: the net runs once, nothing but noise is added per sample."""
        return True

    def encode(self, image: Tensor, log_probs: Tensor | None) -> Tensor:
        """Return the net's log-probabilities (B, K, H, W), whatever F's."""
        window = None if self.training else window_for(image)
        if window is not None:
            probs = stitch(self._probs, image, None, *window)
            return self.gumbel.likely(safe_log(probs))
        logits = self.net(image).float() / self.net_temperature
        log_probs = logits.log_softmax(dim=1)
        # What is left out would get no gradient, hence never come back.
        return log_probs if self.training else self.gumbel.likely(log_probs)

    def _probs(self, image: Tensor, prior: None) -> Tensor:
        """The net's probabilities (B, K, H, W) of a window."""
        return (self.net(image).float() / self.net_temperature).softmax(1)
