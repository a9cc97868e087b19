"""Images in, label maps with their probabilities out."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import torch

from ..utils.checks import at_least
from ..utils.errors import UserError, needing
from ..utils.windows import windows
from .image_list import Inputs, LoadedImage, input_shape, list_images
from .results import InferenceResult, claim_out_dir
from .wrapped_sampler import WrappedSampler

if TYPE_CHECKING:
    from mmengine.config import Config

Size = tuple[int, int]

#: Batches that may wait for more images of their size.
MAX_WAITING = 4


class Unreadable(NamedTuple):
    """An image that could not be read.

    Attributes:
        name: Of its files, had it been read.
        reason: Names the file and what is wrong.
    """

    name: str
    reason: str


class StochasticInferencer:
    """Draws label maps for images, with a model of ours or anybody's.

    The config's test pipeline decides how images are loaded and resized. An
    image's samples depend on the seed and the image alone (one of the
    config's test set: its name there, so that they are those of the test;
    any other: its content): not on other images, their order, the batch
    size, or how many samples are asked for.

    Args:
        config: Config, its path, ``'mmcar::...'`` or ``'mmseg::...'``; or
            what `mmcar.wrap` gives, which has all settings of its own.
        checkpoint: Path or URL of the weights; None for a model that has
            nothing trained of its own.
        device: Where it runs; the best there is by default.
        sampler: For a model of MMSeg's, which does not sample: config of the
            generator that draws from its probabilities, by default
            ``dict(type='GumbelSampler')``; for a wrapped model settings of
            `mmcar.sample_labels`, ``dict(floor=0.02)`` say.
        window: Height and width of windows in which the networks see large
            images. Their probabilities are stitched, then each sample is
            drawn once for the whole image.
        stride: Distance of windows; two thirds of them by default.
        cfg_options: Keys of the config to override.
        promises: File that ``tools/calibrate.py --promise`` has written;
            None takes the one beside the checkpoint, if there is one.
    """

    def __init__(
        self,
        config: 'str | Path | Config | WrappedSampler',
        checkpoint: str | Path | None = None,
        device: str | None = None,
        sampler: Mapping | None = None,
        window: Size | None = None,
        stride: Size | None = None,
        cfg_options: Mapping | None = None,
        promises: str | Path | None = None,
    ) -> None:
        seen = windows(window, stride)
        if isinstance(config, WrappedSampler):
            given = checkpoint, window, stride, cfg_options, promises
            if given != 5 * (None,):
                raise UserError(
                    'checkpoint, cfg_options and promises are of configs; a '
                    'wrapped model brings its weights, and takes window and '
                    'stride by mmcar.wrap'
                )
            self.model = config
            self.load = config.load
            self.sampler, self.promises = sampler, None
            self.device = config.to(device or config.mean.device).mean.device
            return
        if callable(config) or str(config).lower().endswith('.onnx'):
            raise UserError(f'{config}: no config; give mmcar.wrap(model)')
        with needing('mmseg'):
            from mmengine.device import get_device

            from ..compat.configs import read_config
            from ..compat.console import quiet
            from .image_inputs import ImagePipeline
            from .model_loading import load_model
            from .promises import Promises
        self.device = torch.device(device or get_device())
        with quiet():
            self.cfg = read_config(config, cfg_options)
            self.model = load_model(
                self.cfg, checkpoint, self.device, sampler, seen
            )
            self.load = ImagePipeline(self.cfg)
        self.promises = Promises.find(
            promises, checkpoint, self.model, self.cfg.model
        )

    @property
    def classes(self) -> Sequence[str]:
        """Names of the classes; none of a wrapped model without names."""
        if isinstance(self.model, WrappedSampler):
            return self.model.classes or ()
        return self.model.dataset_meta['classes']

    def __call__(
        self,
        inputs: Inputs,
        num_samples: int | None = None,
        seed: int | None = None,
        batch_size: int = 1,
        threshold: float | None = None,
        out_dir: str | Path | None = None,
        npz: bool = False,
    ) -> list[InferenceResult]:
        """Predict images.

        Args:
            inputs: A file, a folder, a glob pattern, an array (H, W) or
                (H, W, C) with channels in the order BGR, for a wrapped model
                in the order that it takes, or several of them.
            num_samples: Samples per image; the config's by default.
            seed: Of the samples; the config's by default.
            batch_size: Images of one size that are predicted together.
            threshold: Distance 1 - IoU from which hypotheses differ; None
                finds it by the rule of `cut_height`.
            out_dir: Write files there, see :meth:`InferenceResult.save`.
            npz: Write all arrays too.

        Returns:
            One result per image, in the order of the inputs.

        Raises:
            UserError: An image cannot be read; :meth:`predict_each` goes on.
        """
        images = list_images(inputs)
        folder = None if out_dir is None else claim_out_dir(out_dir, inputs)
        results = {}
        for result in self.predict_each(
            images, num_samples, seed, batch_size, threshold
        ):
            if isinstance(result, Unreadable):
                raise UserError(result.reason)
            if folder is not None:
                result.save(folder, npz)
            results[result.name] = result
        return [results[image.name] for image in images]

    def predict_each(
        self,
        inputs: Inputs,
        num_samples: int | None = None,
        seed: int | None = None,
        batch_size: int = 1,
        threshold: float | None = None,
    ) -> Iterator[InferenceResult | Unreadable]:
        """Predict images one after the other, in bounded memory.

        Args:
            inputs: See :meth:`__call__`; or what `list_images` gives.
            num_samples: See :meth:`__call__`.
            seed: See :meth:`__call__`.
            batch_size: See :meth:`__call__`.
            threshold: See :meth:`__call__`.

        Yields:
            A result per image, as soon as it is there: images of one size go
            together. An image that cannot be read is told, and the others
            are done all the same.
        """
        at_least(1, batch_size=batch_size)
        waiting: dict[tuple[int, ...], list[LoadedImage]] = {}
        for image in list_images(inputs):
            try:
                loaded = self.load(image)
            except (UserError, OSError) as error:
                yield Unreadable(image.name, f'{error}')
                continue
            batch = waiting.setdefault(input_shape(loaded), [])
            batch.append(loaded)
            if len(batch) < batch_size:
                if sum(map(len, waiting.values())) < MAX_WAITING * batch_size:
                    continue
                batch = max(waiting.values(), key=len)
            del waiting[input_shape(batch[0])]
            yield from self._predict(batch, num_samples, seed, threshold)
        for batch in waiting.values():
            yield from self._predict(batch, num_samples, seed, threshold)

    @torch.no_grad()
    def _predict(
        self,
        batch: Sequence[LoadedImage],
        num_samples: int | None,
        seed: int | None,
        threshold: float | None,
    ) -> Iterator[InferenceResult]:
        model, how = self.model, (num_samples, seed, threshold)
        if isinstance(model, WrappedSampler):
            yield from model.look_at(batch, *how, self.sampler)
            return
        keys = 'inputs', 'data_samples'
        data = {key: [image.packed[key] for image in batch] for key in keys}
        samples = model.test_step(data, num_samples, seed)
        told = model.dataset_meta, threshold, model.draws_independently
        for image, sample in zip(batch, samples, strict=True):
            result = InferenceResult.of(image, sample, *told)
            if self.promises is not None:
                result.promises = self.promises.of(result, threshold is None)
            yield result
