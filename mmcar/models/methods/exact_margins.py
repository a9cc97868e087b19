"""Exact frequencies for the samples of any model."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from mmseg.registry import MODELS
from torch import Tensor

from ...sampling.margins import NOISE_SIZE, Margins
from .base import WrappedSegmentor


@MODELS.register_module()
class ExactMargins(WrappedSegmentor):
    """A model's samples, with its pixelwise probabilities as frequencies.

    At every pixel, the order of the samples' scores decides which of them
    show a class, and the model's `log_probs` how many: see :class:`Margins`.
    Frequencies among the S samples of an image are right up to 1 / S; what
    goes together is the model's own. Weights of the model alone fit, too.

    Samples depend on each other, and those of fewer are not the first of
    more. A chunk of ``test_cfg.samples_per_chunk`` is what the model draws at
    once; it changes nothing.

    Args:
        model: Config of the model, any that samples.
        groups: See :class:`Margins`.
        kwargs: Arguments of :class:`WrappedSegmentor`; ``noise`` is that of
            the model by default.
    """

    joint_samples = True  # ranks are those among all samples
    one_hot = True

    def __init__(
        self,
        model: dict,
        groups: Sequence[Sequence[int]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(model, **kwargs)
        if kwargs.get('noise') is None:
            self.noise = self.model.noise
        self.margins = Margins(self.num_classes, groups)
        self.register_load_state_dict_pre_hook(_take_weights_of_model)

    def encode(
        self, inputs: Tensor, data_samples: Sequence | None = None
    ) -> Any:
        """The model's state."""
        return self.model.encode(inputs, data_samples)

    def log_probs(self, state: Any) -> Tensor:
        """The model's log-probabilities (B, K, H, W)."""
        return self.model.log_probs(state)

    def extra_predictions(self, state: Any) -> dict[str, Tensor]:
        """The model's."""
        return self.model.extra_predictions(state)

    def noise_shape(self, size: tuple[int, int]) -> tuple[int, ...]:
        """That of the ranks, and the model's in one row."""
        return (NOISE_SIZE + math.prod(self.model.noise_shape(size)),)

    def sample(self, state: Any, z: Tensor) -> Tensor:
        """Label maps in one-hot form (S, B, K, H, W)."""
        labels = self.sample_labels(state, z)
        hot = torch.nn.functional.one_hot(labels, self.num_classes)
        return hot.movedim(-1, 2).to(z.dtype)

    def sample_labels(self, state: Any, z: Tensor) -> Tensor:
        """Label maps (S, B, H, W) of the noise of all samples."""
        log_probs = self.model.log_probs(state)
        noise, own = z.tensor_split([NOISE_SIZE], dim=-1)
        shape = self.model.noise_shape(log_probs.shape[2:])
        own = own.unflatten(-1, shape)
        at_once = self.model.chunk_size(log_probs, len(z))
        probs = torch.cat(
            [self.model.sample(state, part) for part in own.split(at_once)]
        )
        scores = probs.clamp_min(torch.finfo(probs.dtype).tiny).log()
        return self.margins.labels(scores, log_probs, noise)


def _take_weights_of_model(
    wrapper: ExactMargins, weights: dict, prefix: str, *_: Any
) -> None:
    """Let weights of the model alone be those of the model inside."""
    own = {prefix + key for key in wrapper.state_dict()}
    if own.isdisjoint(weights):
        for key in [key for key in weights if key.startswith(prefix)]:
            name = f'{prefix}model.{key.removeprefix(prefix)}'
            weights[name] = weights.pop(key)
