"""Draws whose weights a small net learns: calibrated by construction."""

import torch
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.checks import at_least, positive
from ..parts import leaky_conv
from .weighted_sampler import WeightedSampler


@MODELS.register_module()
class LearntFieldSampler(WeightedSampler):
    """Learns which pixels vary together, and nothing else.

    A small net sees image and F and gives the weights of R numbers that
    pixels share. Losses of whole samples (``EnergyLoss``, D) train it. It
    starts as one number per class and image; whatever it learns, frequencies
    are F's at every pixel, so no calibration loss is needed.

    Args:
        num_classes: Number of classes, K.
        rank: Numbers per class, R.
        channels: Width of the net.
        dilations: Dilation of each of its 3x3 convolutions.
        in_channels: Channels of an image.
        floor: Classes below this probability at a pixel are not drawn there.
        temperature: Divides the logits of samples, noise included. Losses
            have no gradient at 0, so it must be above.
        init_cfg: Initialisation config of MMEngine.
    """

    def __init__(
        self,
        num_classes: int,
        rank: int = 16,
        channels: int = 16,
        dilations: tuple[int, ...] = (1, 2, 4, 8),
        in_channels: int = 3,
        floor: float = 0.0,
        temperature: float = 0.1,
        init_cfg: dict | list | None = None,
    ) -> None:
        positive(temperature=temperature)
        at_least(1, channels=channels)
        super().__init__(num_classes, rank, floor, temperature, init_cfg)
        widths = [in_channels + num_classes] + [channels] * len(dilations)
        self.features = nn.Sequential(
            *(
                leaky_conv(before, channels, 3, padding=d, dilation=d)
                for before, d in zip(widths, dilations, strict=False)
            )
        )
        self.last = nn.Conv2d(channels, rank, 1)

    def init_weights(self) -> None:
        """Start as one number that all pixels share, the last."""
        fresh = not self.is_init
        super().init_weights()
        if fresh and not self.init_cfg:
            nn.init.zeros_(self.last.weight)
            nn.init.zeros_(self.last.bias)
            nn.init.ones_(self.last.bias[-1:])

    def weights(self, image: Tensor, log_probs: Tensor) -> Tensor:
        """What the net says of every pixel."""
        probs = log_probs.exp()
        return self.last(self.features(torch.cat((image, probs), dim=1)))
