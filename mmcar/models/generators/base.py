"""Generators: image, F's log-probabilities and noise -> coherent label maps.

Shapes: B images, K classes, S samples per image, d numbers of noise.
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from mmengine.model import BaseModule
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from ...sampling.kernels import bounded_softmax, class_argmax
from ...utils.checks import at_least, not_negative


class BaseGenerator(BaseModule):
    """Encodes an image once and decodes it once per noise vector.

    Args:
        noise_size: Length d of the noise vectors.
        temperature: Divides the logits; 0 makes samples one-hot.
        init_cfg: Initialisation config of MMEngine.

    Attributes:
        needs_calibration: Whether samples depend on F. Else F does not run
            while G is trained, unless a loss needs it.
        joint_samples: Whether a sample depends on the others that are drawn
            with it.
        exportable: Whether an ONNX graph can do what it does. A trace takes
            what is computed outside of torch for a constant.
    """

    needs_calibration = True
    joint_samples = False
    exportable = True

    def __init__(
        self,
        noise_size: int,
        temperature: float = 1.0,
        init_cfg: dict | list | None = None,
    ) -> None:
        super().__init__(init_cfg)
        at_least(1, noise_size=noise_size)
        not_negative(temperature=temperature)
        self.noise_size = noise_size
        # `temperature` is free for what a generator of one's own learns.
        self._temperature = temperature

    @abstractmethod
    def encode(self, image: Tensor, log_probs: Tensor) -> Any:
        """Compute all that does not depend on noise.

        Args:
            image: Images (B, C, H, W).
            log_probs: F's log-probabilities (B, K, H, W).

        Returns:
            Features, for ``decode`` and ``posterior``.
        """

    @abstractmethod
    def decode(self, features: Any, z: Tensor) -> Tensor:
        """Return logits (s, B, K, H, W), before the temperature."""

    def sample(self, features: Any, z: Tensor) -> Tensor:
        """Return probabilities (s, B, K, H, W) for noise ``z`` (s, B, d)."""
        logits = self.decode(features, z).float()  # also under autocast
        if self._temperature == 0:
            best = logits.argmax(dim=2, keepdim=True)
            return torch.zeros_like(logits).scatter_(2, best, 1.0)
        return bounded_softmax(logits, 2, self._temperature)

    @property
    def independent_samples(self) -> bool:
        """Whether training a chunk of samples equals training all at once.

        Batch norm in the decoder would take each chunk for a batch.
        """
        norms = any(isinstance(m, _BatchNorm) for m in self.modules())
        return not (norms or self.joint_samples)

    @property
    def one_hot(self) -> bool:
        """Whether samples are label maps in the form of probabilities."""
        return self._temperature == 0

    def sample_labels(self, features: Any, z: Tensor) -> Tensor:
        """Return label maps (s, B, H, W) for noise ``z`` (s, B, d)."""
        maps = [
            class_argmax(self.decode(features, one)[0]) for one in z[:, None]
        ]
        return torch.stack(maps)

    def posterior(self, features: Any) -> tuple[Tensor, Tensor] | None:
        """Return mean and log-variance (B, d) of the latent code, if any."""
        return None

    def forward(self, image: Tensor, log_probs: Tensor, z: Tensor) -> Tensor:
        """Sample label maps.

        Args:
            image: Images (B, C, H, W).
            log_probs: F's log-probabilities (B, K, H, W).
            z: Standard normal noise (S, B, d).

        Returns:
            Probabilities (S, B, K, H, W).
        """
        return self.sample(self.encode(image, log_probs), z)

    def consume_samples(
        self,
        features: Any,
        z: Tensor,
        consume: Callable[[Tensor], tuple[Tensor, ...]],
        chunk_size: int | None = None,
    ) -> list[tuple[Tensor, ...]]:
        """Sample label maps and reduce them chunk by chunk.

        Activations are computed again in the backward pass: memory holds one
        chunk, whatever S. What is called must not depend on the other samples
        (as batch norm does) nor keep statistics.

        Args:
            features: What `encode` returned.
            z: Standard normal noise (S, B, d).
            consume: Reduces probabilities (s, B, K, H, W) of s samples to
                a tuple of tensors, which is all that is kept of them.
            chunk_size: Samples per chunk; None: all at once, and activations
                are kept.

        Returns:
            What ``consume`` returned for each chunk.
        """

        def run(chunk: Tensor) -> tuple[Tensor, ...]:
            return consume(self.sample(features, chunk))

        if chunk_size and torch.is_grad_enabled():
            run = partial(checkpoint, run, use_reentrant=False)
        return [run(chunk) for chunk in z.split(chunk_size or len(z))]
