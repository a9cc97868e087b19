"""The sampler that needs no training."""

from collections.abc import Sequence

from mmseg.registry import MODELS
from torch import Tensor

from ...sampling import build_gumbel
from .base import BaseGenerator


@MODELS.register_module()
class GumbelSampler(BaseGenerator):
    """Exact, coherent draws from F without any training.

    Every sample is ``argmax_k (log F_k + g_k)`` with Gumbel noise shared
    between pixels (:class:`SharedGumbel`), so the frequency of a class at a
    pixel is F's probability.

    Args:
        num_classes: Number of classes, K.
        correlation_length: None for one number per class and image, or the
            correlation length in pixels of a smooth field.
        num_features: Waves that make up a field.
        common: Share of a field's variance that all pixels have in common.
        floor: Classes (with ``groups``, groups of them) below this
            probability at a pixel are not drawn there: no sample floods the
            picture with what F holds for hardly possible. Frequencies differ
            from F by less than it per class.
        groups: Ids of classes that are names of one thing, as classes and
            their twins are: names are drawn once per image, what a pixel
            shows by the settings above (:class:`GroupedGumbel`).
        temperature: 0 gives one-hot maps; above, a softmax around the same
            argmax, whose *mean* is F only in the limit.
        init_cfg: Initialisation config of MMEngine.
    """

    def __init__(
        self,
        num_classes: int,
        correlation_length: float | None = None,
        num_features: int = 32,
        common: float = 0.0,
        floor: float = 0.0,
        groups: Sequence[Sequence[int]] | None = None,
        temperature: float = 0.0,
        init_cfg: dict | list | None = None,
    ) -> None:
        gumbel = build_gumbel(
            num_classes,
            groups,
            correlation_length=correlation_length,
            num_features=num_features,
            common=common,
            floor=floor,
        )
        super().__init__(gumbel.noise_size, temperature, init_cfg)
        self.num_classes = num_classes
        self.gumbel = gumbel

    def encode(self, image: Tensor, log_probs: Tensor) -> Tensor:
        """Return the ``log_probs`` (B, K, H, W) of what can be drawn."""
        return self.gumbel.likely(log_probs)

    def decode(self, features: Tensor, z: Tensor) -> Tensor:
        """Return perturbed log-probabilities (s, B, K, H, W)."""
        return self.gumbel.perturb(features, z)

    def sample_labels(self, features: Tensor, z: Tensor) -> Tensor:
        """Return label maps (s, B, H, W): the argmax of `decode`."""
        return self.gumbel.labels(features, z)
