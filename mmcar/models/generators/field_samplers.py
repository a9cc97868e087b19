"""Exact draws from F whose noise pixels share by weights of the image."""

from abc import abstractmethod
from typing import Any

import cv2
import numpy as np
import torch
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...sampling import WeightedField, check_floor, drop_unlikely, unit_norm
from ...utils.checks import at_least, fraction, not_negative, positive
from ...utils.errors import UserError
from ..parts import leaky_conv
from .base import BaseGenerator

# Log F (B, K, H, W) of what can be drawn, and how pixels share noise.
WeightedFeatures = tuple[Tensor, WeightedField]


class WeightedSampler(BaseGenerator):
    """Exact draws from F, with fields that depend on the image.

    Every sample is ``argmax_k (log F_k + g_k)``, where the normal values
    behind the Gumbel noise g_k are sums of R numbers per class, with weights
    of norm 1 at every pixel (:class:`WeightedField`). Whatever the weights,
    the frequency of a class at a pixel is F's probability.

    Args:
        num_classes: Number of classes, K.
        rank: Numbers per class, R.
        floor: Classes below this probability at a pixel are not drawn there.
        temperature: 0 gives one-hot maps; above, a softmax around the same
            argmax.
        init_cfg: Initialisation config of MMEngine.
    """

    def __init__(
        self,
        num_classes: int,
        rank: int,
        floor: float = 0.0,
        temperature: float = 0.0,
        init_cfg: dict | list | None = None,
    ) -> None:
        at_least(2, num_classes=num_classes)
        at_least(1, rank=rank)
        check_floor(floor, num_classes)
        super().__init__(num_classes * rank, temperature, init_cfg)
        self.num_classes, self.rank, self.floor = num_classes, rank, floor

    @abstractmethod
    def weights(self, image: Tensor, log_probs: Tensor) -> Tensor:
        """Weights (B, R, H, W), of any norm but zero.

        Args:
            image: Images (B, C, H, W).
            log_probs: Log F (B, K, H, W).
        """

    def encode(self, image: Tensor, log_probs: Tensor) -> WeightedFeatures:
        """What can be drawn, and how pixels share noise."""
        weights = unit_norm(self.weights(image, log_probs))
        return drop_unlikely(log_probs, self.floor), WeightedField(weights)

    def decode(self, features: WeightedFeatures, z: Tensor) -> Tensor:
        """Return perturbed log-probabilities (s, B, K, H, W)."""
        log_probs, field = features
        return field.perturb(log_probs, z)

    def sample_labels(self, features: WeightedFeatures, z: Tensor) -> Tensor:
        """Return label maps (s, B, H, W): the argmax of `decode`."""
        log_probs, field = features
        return field.labels(log_probs, z)


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
        temperature: Divides the logits of samples, noise included. Losses
            have no gradient at 0, so it must be above.
        kwargs: Other arguments of :class:`WeightedSampler`.
    """

    def __init__(
        self,
        num_classes: int,
        rank: int = 16,
        channels: int = 16,
        dilations: tuple[int, ...] = (1, 2, 4, 8),
        in_channels: int = 3,
        temperature: float = 0.1,
        **kwargs: Any,
    ) -> None:
        positive(temperature=temperature)
        at_least(1, channels=channels)
        super().__init__(num_classes, rank, temperature=temperature, **kwargs)
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


@MODELS.register_module()
class RegionSampler(WeightedSampler):
    """Training-free draws with noise of its own for every region.

    Regions are the connected parts of the image in which F is undecided: two
    lesions, or two borders, grow and shrink independently of each other, but
    for a common part. A pixel elsewhere belongs to the nearest of them, and
    regions blend where they meet. Frequencies are F's at every pixel.

    Args:
        num_classes: Number of classes, K.
        max_regions: Regions with numbers of their own. If there are more, the
            smallest share the last one's.
        undecided: A pixel is undecided where the most probable class leaves
            at least this probability to the others.
        border: Standard deviation in pixels by which regions blend.
        common: Share of the variance that all pixels have in common: 1 is
            one number per class and image.
        floor: See :class:`WeightedSampler`.
        kwargs: Other arguments of :class:`WeightedSampler`.
    """

    exportable = False

    def __init__(
        self,
        num_classes: int,
        max_regions: int = 8,
        undecided: float = 0.05,
        border: float = 2.0,
        common: float = 0.0,
        floor: float = 0.0,
        **kwargs: Any,
    ) -> None:
        at_least(1, max_regions=max_regions)
        if not 0 <= common <= 1:
            raise UserError(f'common={common!r}: expected 0 <= common <= 1')
        not_negative(border=border)
        fraction(undecided=undecided)
        positive(undecided=undecided)
        super().__init__(num_classes, max_regions + 1, floor, **kwargs)
        self.max_regions, self.undecided = max_regions, undecided
        self.border, self.common = border, common

    def weights(self, image: Tensor, log_probs: Tensor) -> Tensor:
        """Square roots of how much each pixel belongs to each region."""
        open_ = 1 - log_probs.detach().amax(1).exp() >= self.undecided
        maps = [
            memberships(one, self.max_regions, self.border)
            for one in open_.cpu().numpy()
        ]
        shares = torch.from_numpy(np.stack(maps)).to(log_probs)
        own = (1 - self.common) * shares.clamp_min(0)
        common = torch.full_like(own[:, :1], self.common)
        return torch.cat((own, common), dim=1).sqrt()


def memberships(
    undecided: np.ndarray, max_regions: int, border: float
) -> np.ndarray:
    """How much each pixel belongs to each region.

    Args:
        undecided: Mask (H, W) whose connected parts are the regions.
        max_regions: Number of regions, R.
        border: Standard deviation of the blur between them, in pixels.

    Returns:
        Shares (R, H, W), float32; their sum is 1 at every pixel.
    """
    shares = np.zeros((max_regions, *undecided.shape), np.float32)
    if not undecided.any():
        shares[0] = 1
        return shares
    # Of each pixel the connected part of zeros that is nearest.
    _, nearest = cv2.distanceTransformWithLabels(
        (~undecided).astype(np.uint8),
        cv2.DIST_L2,
        cv2.DIST_MASK_5,
        labelType=cv2.DIST_LABEL_CCOMP,
    )
    sizes = np.bincount(nearest[undecided])
    order = np.argsort(-sizes, kind='stable')
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    region = np.minimum(rank[nearest], max_regions - 1)
    np.put_along_axis(shares, region[None], 1, axis=0)
    if border:
        for r in range(min(len(order), max_regions)):
            shares[r] = cv2.GaussianBlur(shares[r], (0, 0), border)
    return shares / shares.sum(0)
