"""Test-time augmentation as a sampler: every sample sees its own view."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from mmseg.registry import MODELS
from torch import Tensor

from ...utils.checks import one_of
from ...utils.errors import UserError
from ..segmentors.stochastic_segmentor import StochasticSegmentor
from ..views import SYMMETRIES, views_of
from .mixture import MixtureSegmentor, Part
from .wrapping import WrappedSegmentor


@MODELS.register_module()
class TTASegmentor(MixtureSegmentor, WrappedSegmentor):
    """A sample is a view of the image and the model's draw from it.

    Views are flips and quarter turns, which are undone exactly, and scales.
    The model trains as it would alone.

    Args:
        model: Config of the model, any that samples.
        symmetries: ``'none'``, ``'horizontal'`` for images and their mirror
            images, ``'flips'`` for both flips, ``'square'`` for quarter turns
            as well (where images are not square: both flips).
        scales: Factors of the image's size, each with every symmetry.
        kwargs: Further arguments of :class:`WrappedSegmentor`.
    """

    def __init__(
        self,
        model: dict,
        symmetries: str = 'horizontal',
        scales: Sequence[float] = (1.0,),
        **kwargs: Any,
    ) -> None:
        super().__init__(model, **kwargs)
        one_of(SYMMETRIES, symmetries=symmetries)
        if not scales or min(scales) <= 0:
            raise UserError(f'scales={scales!r}: expected factors > 0')
        self.symmetries, self.scales = symmetries, scales

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
        for view in views_of(self.symmetries, size, self.scales):
            seen = view.look(inputs)
            noise = self.model.noise_shape((seen.shape[-2], seen.shape[-1]))
            if noise != self.model.noise_shape(size):
                raise UserError(
                    f'scales: the noise of {type(self.model).__name__} '
                    'depends on the size of the image; leave scales out.'
                )
            # Without data samples: they know the image as it lies on disk.
            back = partial(view.back, size=size)
            parts.append(Part(self.model, self.model.encode(seen), back))
        return parts
