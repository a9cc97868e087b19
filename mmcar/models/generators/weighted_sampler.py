"""Training-free draws whose noise pixels share by weights of the image."""

from abc import abstractmethod

from torch import Tensor

from ...sampling import WeightedField, check_floor, drop_unlikely, unit_norm
from ...utils.checks import at_least
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
