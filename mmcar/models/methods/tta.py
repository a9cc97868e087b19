"""Test-time augmentation as a sampler: every sample sees its own view."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from mmseg.models.utils import resize
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.checks import one_of
from ...utils.errors import UserError
from ..segmentors.stochastic_segmentor import StochasticSegmentor
from ..segmentors.train_batch import TrainBatch
from .mixture import MixtureSegmentor, Part

# Quarter turns, and whether views are mirrored, too.
SYMMETRIES = {
    'none': ((0,), (False,)),
    'horizontal': ((0,), (False, True)),
    'flips': ((0, 2), (False, True)),
    'square': ((0, 1, 2, 3), (False, True)),
}


class View(NamedTuple):
    """How an image is looked at.

    Attributes:
        turns: Quarter turns, before the flip.
        flip: Whether left and right are exchanged.
        scale: Factor of its size.
    """

    turns: int = 0
    flip: bool = False
    scale: float = 1.0

    def look(self, image: Tensor) -> Tensor:
        """The view of images (B, C, H, W)."""
        turned = image.rot90(self.turns, (-2, -1))
        seen = turned.flip(-1) if self.flip else turned
        if self.scale == 1:
            return seen
        size = [max(round(side * self.scale), 1) for side in seen.shape[-2:]]
        return _resize(seen, size)

    def back(self, maps: Tensor, size: tuple[int, int]) -> Tensor:
        """Undo the view of maps (..., h, w) for images of a size (H, W)."""
        if self.scale != 1:
            maps = _resize(maps, list(size[:: -1 if self.turns % 2 else 1]))
        maps = maps.flip(-1) if self.flip else maps
        return maps.rot90(-self.turns, (-2, -1))


def _resize(maps: Tensor, size: list[int]) -> Tensor:
    """Maps (..., h, w) at another size; labels by the nearest pixel."""
    flat = maps.reshape(-1, 1, *maps.shape[-2:])
    if maps.is_floating_point():
        flat = resize(flat, size=size, mode='bilinear', align_corners=False)
    else:
        flat = resize(flat.float(), size=size, mode='nearest-exact')
    return flat.to(maps.dtype).reshape(*maps.shape[:-2], *size)


@MODELS.register_module()
class TTASegmentor(MixtureSegmentor):
    """A sample is a view of the image and the model's draw from it.

    Views are flips and quarter turns, which are undone exactly, and scales.
    The model trains as it would alone.

    Args:
        model: Config of the model, any that samples.
        symmetries: ``'none'``, ``'horizontal'`` for images and their mirror
            images, ``'flips'`` for both flips, ``'square'`` for quarter turns
            as well (where images are not square: both flips).
        scales: Factors of the image's size, each with every symmetry.
        data_preprocessor: That of the model by default.
        kwargs: Further arguments of :class:`StochasticSegmentor`.
    """

    def __init__(
        self,
        model: dict,
        symmetries: str = 'horizontal',
        scales: Sequence[float] = (1.0,),
        data_preprocessor: dict | None = None,
        **kwargs: Any,
    ) -> None:
        one_of(SYMMETRIES, symmetries=symmetries)
        if not scales or min(scales) <= 0:
            raise UserError(f'scales={scales!r}: expected factors > 0')
        shared = model.get('data_preprocessor') or data_preprocessor
        inner = MODELS.build({**model, 'data_preprocessor': shared})
        super().__init__(
            inner.num_classes,
            data_preprocessor=shared,
            align_corners=inner.align_corners,
            ignore_index=inner.ignore_index,
            **kwargs,
        )
        self.model = inner
        turns, flips = SYMMETRIES[symmetries]
        self.views = [
            View(turn, flip, scale)
            for scale in scales
            for turn in turns
            for flip in flips
        ]

    @property
    def typical(self) -> StochasticSegmentor:
        """The model."""
        return self.model

    def encode(
        self, inputs: Tensor, data_samples: Sequence | None = None
    ) -> list[Part]:
        """States of all views."""
        size = (inputs.shape[-2], inputs.shape[-1])
        parts = []
        for view in self.views:
            if size[0] != size[1] and view.turns % 2:
                continue
            seen = view.look(inputs)
            self._check_noise(size, (seen.shape[-2], seen.shape[-1]))
            # Without data samples: they know the image as it lies on disk.
            state = self.model.encode(seen)
            parts.append(
                Part(self.model, state, partial(view.back, size=size))
            )
        return parts

    def _check_noise(
        self, size: tuple[int, int], seen: tuple[int, int]
    ) -> None:
        """Refuse scales where the model has noise for every pixel."""
        if self.model.noise_shape(size) != self.model.noise_shape(seen):
            raise UserError(
                f'scales: the noise of {type(self.model).__name__} depends on '
                'the size of the image; leave scales out.'
            )

    def networks(self) -> dict[str, nn.Module]:
        """The model's networks."""
        return self.model.networks()

    def train_batch(
        self, inputs: Tensor, data_samples: Sequence, seed: tuple[int, ...]
    ) -> TrainBatch:
        """The model's batch."""
        return self.model.train_batch(inputs, data_samples, seed)

    def losses(self, name: str, batch: TrainBatch) -> dict[str, Tensor]:
        """The model's losses."""
        return self.model.losses(name, batch)
