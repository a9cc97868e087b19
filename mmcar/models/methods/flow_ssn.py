"""Flow-SSN: a flow from pixelwise noise to coherent label maps.

After Flow Stochastic Segmentation Networks (Ribeiro et al., 2025), on the
probabilities of a model that is given.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.checks import at_least, positive
from ..parts import build_part
from ..segmentors.training import TrainBatch
from .base import WrappedSegmentor
from .ssn import StochasticSegmentationNetwork

# Of centred log-probabilities: what is certain needs no more.
LARGEST = 8.0


class FlowState(NamedTuple):
    """What does not depend on noise.

    Attributes:
        base: The base model's state.
        log_probs: Its log-probabilities (B, K, H, W).
        context: The same, centred and bounded.
    """

    base: Any
    log_probs: Tensor
    context: Tensor


@MODELS.register_module()
class FlowSSN(WrappedSegmentor):
    """Noise around a base model's logits flows to a label map.

    A sample starts at u, drawn from the base: an SSN's own Gaussian, or, for
    every other model, independent noise around ``scale`` times the logarithm
    of its probabilities. On the way, ``y_t = (1 - t) u + t y``, a small net
    says which label map y it leads to; it learns that by cross entropy with
    one annotator. Sampling goes that way in ``steps`` equal steps. The base
    is not changed by it: it is trained in a phase of its own, or given.

    Frequencies are the base's only as far as the net has learnt that:
    :class:`ExactMargins` makes them exact.

    Args:
        model: Config of the base model, any that samples.
        net: Config of the net, any calibration net. Its input has 2 K + 1
            channels: y_t, the log-probabilities, t.
        steps: Euler steps of a sample.
        scale: Of the log-probabilities against the noise. Little leaves more
            to the noise, hence to the net.
        kwargs: Arguments of :class:`WrappedSegmentor`.
    """

    def __init__(
        self,
        model: dict,
        net: dict,
        steps: int = 10,
        scale: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(model, **kwargs)
        at_least(1, steps=steps)
        positive(scale=scale)
        self.steps, self.scale = steps, scale
        self.net = build_part('net', net, self.num_classes)
        self.on_gaussian = isinstance(
            self.model, StochasticSegmentationNetwork
        )

    def networks(self) -> dict[str, nn.Module]:
        """The base model's, and ``flow``."""
        return {**self.model.networks(), 'flow': self.net}

    def encode(
        self, inputs: Tensor, data_samples: Sequence | None = None
    ) -> FlowState:
        """The base model's state, and what the net sees of it."""
        base = self.model.encode(inputs, data_samples)
        log_probs = self.model.log_probs(base)
        centred = log_probs - log_probs.mean(1, keepdim=True)
        context = centred.clamp(-LARGEST, LARGEST)
        return FlowState(base, log_probs, context)

    def log_probs(self, state: FlowState) -> Tensor:
        """The base model's log-probabilities (B, K, H, W)."""
        return state.log_probs

    def extra_predictions(self, state: FlowState) -> dict[str, Tensor]:
        """The base model's."""
        return self.model.extra_predictions(state.base)

    def noise_shape(self, size: tuple[int, int]) -> tuple[int, ...]:
        """The time of a training step, then what a sample starts from."""
        if self.on_gaussian:
            return (1 + math.prod(self.model.noise_shape(size)),)
        return (1 + self.num_classes * math.prod(size),)

    def start(self, state: FlowState, z: Tensor) -> Tensor:
        """Draw what samples start from (s, B, K, H, W)."""
        if self.on_gaussian:
            return state.base.logits(z[..., 1:])
        noise = z[..., 1:].unflatten(-1, state.context.shape[1:])
        return self.scale * state.context + noise

    def predict_maps(self, state: FlowState, y: Tensor, t: Tensor) -> Tensor:
        """Logits (s, B, K, H, W) of the label maps that y leads to.

        Args:
            state: What `encode` returned.
            y: On the way (s, B, K, H, W).
            t: How far (B,).
        """
        size = y.shape[-2:]
        time = t.view(-1, 1, 1, 1).expand(-1, 1, *size)
        seen = torch.cat((state.context, time), dim=1)
        inputs = torch.cat((y, seen.expand(len(y), *seen.shape)), dim=2)
        logits = self.net(inputs.flatten(0, 1)).float()
        return logits.unflatten(0, y.shape[:2])

    def sample(self, state: FlowState, z: Tensor) -> Tensor:
        """Draw class probabilities (s, B, K, H, W)."""
        y = start = self.start(state, z)
        for step in range(self.steps):
            t = y.new_full((y.shape[1],), step / self.steps)
            ends = self.predict_maps(state, y, t).softmax(2)
            y = y + (ends - start) / self.steps
        # What is left of the start is rounding.
        y = y.clamp_min(0.0)
        return y / y.sum(2, keepdim=True)

    def losses(self, name: str, batch: TrainBatch) -> dict[str, Tensor]:
        """Cross entropy of the net, or what the base model learns from."""
        if name != 'flow':
            return self.model.losses(name, batch)
        with torch.no_grad():
            state = self.encode(batch.image, batch.data_samples)
            z = self.train_noise(batch, 1)
            start = self.start(state, z)
        t = torch.special.ndtr(z[0, :, 0])
        # Nobody knows the end of an unlabelled pixel: what F expects it is.
        end = batch.real + (1 - batch.mask) * state.log_probs.exp()
        weight = t.view(-1, 1, 1, 1)
        y = (1 - weight) * start + weight * end
        logits = self.predict_maps(state, y, t)[0]
        known = dict(ignore_index=self.ignore_index, reduction='sum')
        loss = F.cross_entropy(logits, batch.label.long(), **known)
        return dict(loss_flow=loss / batch.mask.sum().clamp(min=1))
