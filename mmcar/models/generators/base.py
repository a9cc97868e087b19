"""Generators: image, F's log-probabilities and noise -> coherent label maps.

Shapes: B images, K classes, S samples per image, d numbers of noise.
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch
from mmengine.model import BaseModule
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from ...sampling.kernels import bounded_softmax, class_argmax
from ...utils.checks import at_least, not_negative
from ...utils.errors import UserError

Consumer = Callable[[Tensor], tuple[Tensor, ...]]


class GeneratorOutput(NamedTuple):
    """What a generator returns.

    Attributes:
        results: Probabilities (S, B, K, H, W), or what ``consume`` returned
            for each chunk of samples.
        posterior: Mean and log-variance (B, d) of a latent code, or None.
    """

    results: Tensor | list[tuple[Tensor, ...]]
    posterior: tuple[Tensor, Tensor] | None


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

    def forward(
        self,
        image: Tensor,
        log_probs: Tensor,
        z: Tensor,
        consume: Consumer | None = None,
        chunk_size: int | None = None,
    ) -> GeneratorOutput:
        """Sample label maps.

        With ``consume`` and ``chunk_size`` the samples are decoded and
        consumed chunk by chunk, and their activations computed again in the
        backward pass: memory holds one chunk, whatever S. What is called
        must not depend on the other samples (as batch norm does) nor keep
        statistics.

        Args:
            image: Images (B, C, H, W).
            log_probs: F's log-probabilities (B, K, H, W).
            z: Standard normal noise (S, B, d).
            consume: Reduces probabilities (s, B, K, H, W) of s samples to a
                tuple of tensors, which is all that is kept of them.
            chunk_size: Samples per chunk; None: all at once.

        Returns:
            Probabilities, or the list of what ``consume`` returned, and the
            posterior of the latent code.
        """
        if z.shape[1:] != (len(image), self.noise_size):
            raise UserError(
                f'noise of shape {tuple(z.shape)}: expected (samples, '
                f'{len(image)} images, noise_size={self.noise_size})'
            )
        features = self.encode(image, log_probs)
        posterior = self.posterior(features)
        if consume is None:
            return GeneratorOutput(self.sample(features, z), posterior)
        at_least(1, chunk_size=len(z) if chunk_size is None else chunk_size)

        def run(chunk: Tensor) -> tuple[Tensor, ...]:
            return consume(self.sample(features, chunk))

        if chunk_size and torch.is_grad_enabled():
            run = partial(checkpoint, run, use_reentrant=False)
        results = [run(chunk) for chunk in z.split(chunk_size or len(z))]
        return GeneratorOutput(results, posterior)
