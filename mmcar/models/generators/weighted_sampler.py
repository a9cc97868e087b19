"""Training-free draws whose noise pixels share by weights of the image."""

from abc import abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from ...sampling import WeightedField, check_floor, drop_unlikely, unit_norm
from ...utils.checks import at_least
from ...utils.errors import UserError
from .base import BaseGenerator


class WeightedFeatures(NamedTuple):
    """What does not depend on noise.

    Attributes:
        log_probs: Log F (B, K, H, W) of what can be drawn.
        field: How pixels share noise.
    """

    log_probs: Tensor
    field: WeightedField


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

    @property
    def independent_samples(self) -> bool:
        """Always: weights are those of the image."""
        return True

    def encode(self, image: Tensor, log_probs: Tensor) -> WeightedFeatures:
        """What can be drawn, and how pixels share noise."""
        weights = unit_norm(self.weights(image, log_probs))
        likely = drop_unlikely(log_probs, self.floor)
        return WeightedFeatures(likely, WeightedField(weights))

    def decode(self, features: WeightedFeatures, z: Tensor) -> Tensor:
        """Return perturbed log-probabilities (s, B, K, H, W)."""
        return features.field.perturb(features.log_probs, z)

    def sample_labels(self, features: WeightedFeatures, z: Tensor) -> Tensor:
        """Return label maps (s, B, H, W): the argmax of `decode`."""
        return features.field.labels(features.log_probs, z)


def with_common(weights: Tensor, common: float) -> Tensor:
    """Add a number that all pixels share.

    Args:
        weights: (B, R, H, W), of norm 1.
        common: Its share of the variance.

    Returns:
        (B, R + 1, H, W), the common part last.
    """
    constant = torch.ones_like(weights[:, :1])
    parts = (1 - common) ** 0.5 * weights, common**0.5 * constant
    return torch.cat(parts, dim=1)


def check_common(common: float) -> None:
    """Refuse a share that is none."""
    if not 0 <= common <= 1:
        raise UserError(f'common={common!r}: expected 0 <= common <= 1')
