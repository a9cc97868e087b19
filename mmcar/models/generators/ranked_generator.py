"""A generator whose samples have F's frequencies, whatever it learns."""

from collections.abc import Sequence
from typing import Any

import torch
from mmseg.registry import MODELS
from torch import Tensor

from ...sampling.margins import NOISE_SIZE, Margins
from ...utils.checks import positive
from ..parts import build_part
from .base import BaseGenerator

RankedFeatures = tuple[Tensor, Any]
"""F's log-probabilities (B, K, H, W), and what gives the scores encoded."""


@MODELS.register_module()
class RankedGenerator(BaseGenerator):
    """Calibrated by construction: G gives scores, ranks give the margins.

    At every pixel, the order of the samples' scores decides which of them
    show a class, F how many of them: see :class:`Margins`. So D and the
    energy loss are G's only teachers, and a calibration loss has nothing left
    to do. All samples of an image are drawn at once.

    Samples proper are label maps. `sample` gives soft maps around them, which
    is what losses and D see.

    Args:
        num_classes: Number of classes, K.
        generator: Config of the generator of the scores.
        groups: See :class:`Margins`.
        temperature: Divides the distance of scores from the threshold in
            soft maps.
        init_cfg: Initialisation config of MMEngine.
    """

    joint_samples = True

    def __init__(
        self,
        num_classes: int,
        generator: dict,
        groups: Sequence[Sequence[int]] | None = None,
        temperature: float = 1.0,
        init_cfg: dict | list | None = None,
    ) -> None:
        positive(temperature=temperature)
        inner = build_part('generator.generator', generator, num_classes)
        super().__init__(inner.noise_size + NOISE_SIZE, temperature, init_cfg)
        self.num_classes = num_classes
        self.generator = inner
        self.margins = Margins(num_classes, groups)

    @property
    def one_hot(self) -> bool:
        """Samples proper are label maps."""
        return True

    def encode(self, image: Tensor, log_probs: Tensor) -> RankedFeatures:
        """Run what needs no noise of the generator of the scores."""
        return log_probs, self.generator.encode(image, log_probs)

    def decode(self, features: RankedFeatures, z: Tensor) -> Tensor:
        """Return soft maps (S, B, K, H, W) of all samples (S, B, d)."""
        noise, own = z.tensor_split([NOISE_SIZE], dim=-1)
        log_probs, inner = features
        scores = self.generator.decode(inner, own)
        return self.margins.maps(scores, log_probs, noise, self._temperature)

    def sample(self, features: RankedFeatures, z: Tensor) -> Tensor:
        """Return soft maps (S, B, K, H, W), in full precision."""
        return self.decode(features, z)

    def sample_labels(self, features: RankedFeatures, z: Tensor) -> Tensor:
        """Return label maps (S, B, H, W), scores one sample at a time."""
        noise, own = z.tensor_split([NOISE_SIZE], dim=-1)
        log_probs, inner = features
        scores = [self.generator.decode(inner, one) for one in own[:, None]]
        return self.margins.labels(torch.cat(scores), log_probs, noise)

    def posterior(
        self, features: RankedFeatures
    ) -> tuple[Tensor, Tensor] | None:
        """Return that of the generator of the scores."""
        return self.generator.posterior(features[1])
