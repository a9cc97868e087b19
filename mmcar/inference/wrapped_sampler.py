"""Results and calibration of any model, without MMSegmentation."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor
from typing_extensions import Unpack

from ..evaluation.functional.inputs import (
    check_maps,
    check_same_size,
    split_images,
)
from ..sampling import content_key
from ..sampling.drawing import SamplerSettings
from ..structures import label_distribution
from ..structures.colours import visible
from ..utils.arrays import as_tensor
from ..utils.checks import at_least, not_negative
from ..utils.errors import UserError, needing
from ..utils.precision import safe_log
from ..utils.scaling import rescale
from ..wrapped_model import WrappedModel
from .image_list import ImageInput, Inputs, LoadedImage
from .results import InferenceResult
from .scaling_fit import Fit, Pixels, draw_pixels, fit_scaling

Batch = Tensor | np.ndarray


class WrappedSampler(WrappedModel):
    """A `WrappedModel` with results for files, and with calibration.

    Attributes:
        fitted: The scaling that :meth:`calibrate` has found; probabilities
            and samples are those after it.

    Example:
        >>> import mmcar
        >>> model = mmcar.wrap(torch.nn.Conv2d(3, 2, 1).eval(), std=255)
        >>> picture = np.zeros((16, 24, 3), np.uint8)
        >>> (result,) = model.results(picture, num_samples=8)
        >>> result.samples.shape
        (8, 16, 24)
    """

    fitted: Fit | None = None

    @torch.no_grad()
    def forward(self, images: Batch) -> Tensor:
        """Class probabilities (B, K, H, W) of images, calibrated if fitted.

        Args:
            images: See `WrappedModel`.
        """
        probs = super().forward(images)
        if self.fitted is None:
            return probs
        fit = self.fitted
        weight, bias = fit.weight.to(probs), fit.bias.to(probs)
        return rescale(safe_log(probs), fit.method, weight, bias).exp()

    def calibrate(
        self,
        images: Batch | Sequence[Batch],
        labels: Batch | Sequence[Batch],
        method: str = 'temperature',
        num_pixels: int = 200_000,
        ridge: float = 1e-6,
        ignore_index: int = 255,
    ) -> Fit:
        """Fit a scaling, which probabilities carry from now on.

        Judge it by other images than these, with `mmcar.calibration`.

        Args:
            images: A batch as :meth:`forward` takes it, or several of them.
            labels: Label maps (B, H, W), or (B, A, H, W) of A annotators;
                as many batches.
            method: 'temperature', 'vector', 'matrix', 'class-affine' or
                'dirichlet', from few parameters to many.
            num_pixels: Pixels to fit on, of all images together.
            ridge: Pull towards no scaling.
            ignore_index: Id of unlabelled pixels.
        """
        if isinstance(images, Batch):
            images, labels = [images], [labels]  # type: ignore[list-item]
        if len(images) != len(labels):
            raise UserError(
                f'{len(images)} batches of images, {len(labels)} of labels: '
                'expected as many'
            )
        at_least(1, num_pixels=num_pixels)
        not_negative(ridge=ridge)
        self.fitted = None
        each = max(1, num_pixels // max(1, sum(map(len, images))))
        found = []
        for batch, given in zip(images, labels, strict=True):
            probs, maps = self(batch), as_tensor('labels', given)
            maps = maps[:, None] if maps.dim() == 3 else maps
            maps = maps.to(probs.device)
            for one, own in split_images(probs=probs, labels=maps):
                check_maps('labels', own, len(one), ignore_index)
                check_same_size(probs=one, labels=own)
                sample = dict(gt_sem_segs=dict(data=own))
                known = label_distribution(sample, len(one), ignore_index)
                key = content_key(one)
                found.append(draw_pixels(safe_log(one), *known, each, key))
        self.fitted = fit_scaling(Pixels.joined(found), method, ridge)
        return self.fitted

    def results(
        self,
        inputs: Inputs,
        num_samples: int = 16,
        seed: int = 0,
        threshold: float | None = None,
        **sampler: Unpack[SamplerSettings],
    ) -> list[InferenceResult]:
        """What the model says about images, see `InferenceResult`.

        Args:
            inputs: A file, a folder, a pattern, an array (H, W) or (H, W, C)
                with channels as the model has them, or several of them.
            num_samples: Label maps per image.
            seed: Of the samples.
            threshold: Distance from which hypotheses differ; None: by rule.
            sampler: See :meth:`sample`.
        """
        from .inferencer import StochasticInferencer

        infer = StochasticInferencer(self, sampler=sampler)
        return infer(inputs, num_samples, seed, threshold=threshold)

    def load(self, image: ImageInput) -> LoadedImage:
        """Read an image; its pixels are RGB if they are three channels."""
        array = image.array
        if array is None:
            with needing('figures'):
                from ..datasets.image_files import read_image
            kind = {1: 'grayscale', 3: 'color'}.get(self.channels, 'unchanged')
            array = read_image(str(image.path), kind)
            array = array[..., ::-1] if kind == 'color' else array
        if array.ndim == 2:
            array = array[..., None]
        numbers = array.dtype.kind in 'uif'
        if array.ndim != 3 or 0 in array.shape or not numbers:
            raise UserError(
                f'{image.name}: {array.dtype} of shape {array.shape}: not '
                'numbers (height, width) or (height, width, channels)'
            )
        if array.shape[2] == 1 < self.channels:
            array = array.repeat(self.channels, 2)
        pixels = torch.from_numpy(array.astype(np.float32))
        pixels = pixels.movedim(-1, 0).contiguous()
        return LoadedImage(
            image.name, image.path, visible(array), dict(inputs=pixels)
        )

    def look_at(
        self,
        batch: Sequence[LoadedImage],
        num_samples: int | None,
        seed: int | None,
        threshold: float | None,
        sampler: Mapping | None,
    ) -> Iterator[InferenceResult]:
        """Results of images of one size; see `StochasticInferencer`."""
        images = torch.stack([one.packed['inputs'] for one in batch])
        settings = SamplerSettings(**(sampler or {}))
        wanted = 16 if num_samples is None else num_samples
        found = self._draw(images, wanted, seed or 0, **settings)
        probs, drawn = (maps.cpu() for maps in found)
        number = probs.shape[1]
        meta = dict(classes=self.classes or [*map(str, range(number))])
        how = meta, threshold, settings.get('noise') != 'sobol'
        for image, samples, own in zip(batch, drawn, probs, strict=True):
            shares = [(samples == k).float().mean(0) for k in range(number)]
            maps = samples, own, torch.stack(shares), own.argmax(0)
            yield InferenceResult.of_maps(image, *maps, *how)
