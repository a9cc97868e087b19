"""Monte-Carlo dropout (Gal and Ghahramani, ICML 2016)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import torch
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...sampling import NormalNoise
from ...utils.checks import at_least
from ...utils.errors import UserError
from ...utils.precision import log_mean
from ..black_boxes.base import prior_of
from ..segmentors.car_segmentor import CARSegmentor

DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d)
ONE_AT_A_TIME = Lock()  # threads share a net, on which masks hang in a pass
SEED_SIZE = 2  # normal numbers whose bits seed the masks of a sample


class DropoutState(NamedTuple):
    """An image before any dropout.

    Attributes:
        image: Normalised images (B, C, H, W).
        data_samples: Their data samples, or None.
        prior: The black box's probabilities (B, K_b, H, W), or None.
    """

    image: Tensor
    data_samples: Sequence | None
    prior: Tensor | None


def dropouts(net: nn.Module) -> list[nn.Module]:
    """The layers of a net that drop something."""
    return [m for m in net.modules() if isinstance(m, DROPOUTS) and m.p > 0]


@contextmanager
def seeded_dropout(
    net: nn.Module, randoms: Sequence[np.random.Generator]
) -> Iterator[None]:
    """Drop as in training, with masks from generators of random numbers.

    Args:
        net: In eval mode, where its dropout does nothing of its own.
        randoms: One per image of the batch; or one for a batch of one image,
            however its layers arrange it.
    """

    def drop(layer: nn.Module, inputs: tuple, output: Tensor) -> Tensor:
        whole = isinstance(layer, nn.Dropout)
        # One seed alone is that of all that the layer sees as its batch.
        start = 1 if len(randoms) > 1 else 0
        shape = tuple((output.shape if whole else output.shape[:2])[start:])
        kept = [r.random(shape, np.float32) >= layer.p for r in randoms]
        mask = torch.from_numpy(np.stack(kept) if start else kept[0])
        mask = mask.to(output) / (1 - layer.p)
        return output * mask[(..., *[None] * (output.dim() - mask.dim()))]

    hooks = [layer.register_forward_hook(drop) for layer in dropouts(net)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@MODELS.register_module()
class MCDropout(CARSegmentor):
    """F with dropout that stays active: every sample has masks of its own.

    A sample's masks come from its noise, not from a global state: the same
    seed and image give the same masks. What is drawn from a pass is up to
    ``decode_head.generator``: ``ArgmaxSampler`` for its decision, as in the
    literature, or ``GumbelSampler`` for a draw. F learns as in every
    :class:`CARSegmentor`.

    Args:
        dropout_after: Names of modules of F, e.g. ``'backbone.encoder.4'``,
            that get a dropout of whole channels behind them, for nets that
            have none. Empty: F's own.
        dropout: Its probability.
        mean_samples: Passes whose mean stands for the pixelwise
            probabilities.
        kwargs: Arguments of :class:`CARSegmentor`.
    """

    def __init__(
        self,
        *,
        dropout_after: Sequence[str] = (),
        dropout: float = 0.5,
        mean_samples: int = 8,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        at_least(1, mean_samples=mean_samples)
        self.mean_samples = mean_samples
        net = self.decode_head.calibration
        if net is None:
            raise UserError('MCDropout needs decode_head.calibration.')
        if self.joint_samples:
            raise UserError(
                'decode_head.generator ranks samples of one F, but here each '
                'has its own: take another, or ExactMargins around the model'
            )
        modules = dict(net.named_modules())
        for name in dropout_after:
            if name not in modules:
                raise UserError(f'dropout_after={name!r}: F has no such part')
            parent, _, child = name.rpartition('.')
            behind = nn.Sequential(modules[name], nn.Dropout2d(dropout))
            setattr(net.get_submodule(parent), child, behind)
        if not dropouts(net):
            raise UserError(
                'decode_head.calibration has no dropout: set dropout_after, '
                'or a rate of its own, e.g. decode_head.dropout_ratio'
            )
        # The others have the batch first; of these nobody knows.
        self.batched = not any(
            isinstance(layer, nn.Dropout) for layer in dropouts(net)
        )

    def encode(
        self, inputs: Tensor, data_samples: Sequence | None = None
    ) -> DropoutState:
        """Run the black box, if there is one."""
        prior = prior_of(self.decode_head.black_box, inputs, data_samples)
        return DropoutState(inputs, data_samples, prior)

    def noise_shape(self, size: tuple[int, int]) -> tuple[int, ...]:
        """The generator's noise, then the seed of the masks."""
        return (self.decode_head.generator.noise_size + SEED_SIZE,)

    def passes(self, state: DropoutState, seeds: Tensor) -> Tensor:
        """Log-probabilities (s, B, K, H, W) of one pass per sample.

        Args:
            state: What `encode` returned.
            seeds: Normal numbers (s, B, SEED_SIZE).
        """
        images = range(len(state.image))
        together = [images] if self.batched else [[i] for i in images]
        drawn = [
            [self._pass(state, own, one) for own in together] for one in seeds
        ]
        return torch.stack([torch.cat(parts) for parts in drawn])

    def _pass(
        self, state: DropoutState, images: Sequence[int], seeds: Tensor
    ) -> Tensor:
        """One pass (b, K, H, W) of some images, by the seeds of all."""
        net, index = self.decode_head.calibration, list(images)
        bits = seeds[index].cpu().contiguous().numpy().view(np.uint32)
        randoms = [np.random.default_rng(own.tolist()) for own in bits]
        samples, prior = state.data_samples, state.prior
        with ONE_AT_A_TIME, seeded_dropout(net, randoms):
            return self.decode_head.calibrate(
                state.image[index],
                None if samples is None else [samples[i] for i in index],
                None if prior is None else prior[index],
                self.window_for(state.image),
            )

    def log_probs(self, state: DropoutState) -> Tensor:
        """Log of the mean probabilities (B, K, H, W) of fixed passes."""
        z = NormalNoise()(['mean'], self.mean_samples, SEED_SIZE, 0)
        seeds = z.expand(-1, len(state.image), -1).split(1)
        return log_mean(self.passes(state, one)[0].exp() for one in seeds)

    def sample(self, state: DropoutState, z: Tensor) -> Tensor:
        """Draw class probabilities (s, B, K, H, W)."""
        return self._draw(state, z, 'sample')

    def sample_labels(self, state: DropoutState, z: Tensor) -> Tensor:
        """Draw label maps (s, B, H, W)."""
        return self._draw(state, z, 'sample_labels')

    def _draw(self, state: DropoutState, z: Tensor, how: str) -> Tensor:
        generator = self.decode_head.generator
        noise, seeds = z.split([generator.noise_size, SEED_SIZE], dim=-1)
        drawn = []
        for own, seed in zip(noise, seeds, strict=True):
            log_probs = self.passes(state, seed[None])[0]
            features = generator.encode(state.image, log_probs)
            drawn.append(getattr(generator, how)(features, own[None]))
        return torch.cat(drawn)
