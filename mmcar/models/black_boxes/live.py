"""The black box B: any trained segmentation model, frozen."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from mmengine.structures import PixelData
from mmseg.models import EncoderDecoder
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor

from ...structures import padding_of, without_padding
from ...utils.errors import UserError
from ...utils.windows import stitch, window_for, window_of
from ..data_preprocessor import InputNorm, pad_as_in_testing
from ..weights import load_checkpoint
from .base import BaseBlackBox
from .full_image import follow_image, image_transforms
from .mmseg_model import find_model


@MODELS.register_module()
class BlackBox(BaseBlackBox):
    """A frozen MMSeg model that gives class probabilities.

    It is always in eval mode, has no trainable parameters and runs without
    gradients. Its weights are part of the state dict, so that a checkpoint of
    the model around it is complete. Exactly one of ``segmentor``, ``config``
    and ``backbone`` with ``decode_head`` says what it is.

    Args:
        segmentor: Config of any registered segmentor.
        backbone: Config of a backbone.
        decode_head: Config of a decode head.
        neck: Config of a neck between them.
        config: Path of an MMSeg config file, or ``'mmseg::...'`` for one of
            the stock configs.
        checkpoint: Path or URL of its weights; 'pretrained' for the stock
            weights of a stock config; None if a checkpoint of the whole model
            brings them. Weights that the config names for the start of
            training (``pretrained``, ``init_cfg``) are never loaded.
        data_preprocessor: Config of the normalisation that B was trained
            with, if not in its own config. Without any, B sees the images as
            the model around it does.
        test_pipeline: What B does to images on disk before it sees them,
            e.g. a resize; that of ``config`` by default. Steps that load
            and pack are left out.
        one_hot: See :class:`BaseBlackBox`.

    Attributes:
        starts_trained: Whether it has weights of its own from the start.
    """

    def __init__(
        self,
        segmentor: dict | None = None,
        backbone: dict | None = None,
        decode_head: dict | None = None,
        neck: dict | None = None,
        config: str | None = None,
        checkpoint: str | None = None,
        data_preprocessor: dict | None = None,
        test_pipeline: Sequence[dict] | None = None,
        one_hot: bool = False,
    ) -> None:
        found = find_model(
            dict(
                segmentor=segmentor,
                backbone=backbone,
                decode_head=decode_head,
                neck=neck,
                config=config,
                checkpoint=checkpoint,
                data_preprocessor=data_preprocessor,
                test_pipeline=test_pipeline,
            )
        )
        model = MODELS.build(found.model)
        inference = getattr(type(model), 'inference', None)
        if inference is EncoderDecoder.inference:  # others have other modes
            window_of(model.test_cfg, 'black_box.segmentor.test_cfg')
        super().__init__(max(2, model.out_channels), one_hot)
        self.segmentor = model
        self.out_channels = model.out_channels
        self.has_own_norm = found.model.get('data_preprocessor') is not None
        self.transforms = image_transforms(found.pipeline)
        self.starts_trained = found.weights is not None
        if found.weights is not None:
            load_checkpoint(
                self.segmentor,
                found.weights,
                source=f'black_box.checkpoint={found.weights!r}',
                advice='Give the config that this checkpoint was trained '
                'with, or None if a checkpoint of the whole model has the '
                'weights.',
            )
        self.requires_grad_(False)
        self.eval()
        self.set_input_norm(InputNorm())

    def set_input_norm(self, norm: InputNorm) -> None:
        """Say how the images that arrive here have been normalised."""
        for name, neutral in (('mean', 0.0), ('std', 1.0)):
            given = getattr(norm, name)
            value = torch.as_tensor(
                neutral if given is None else given, dtype=torch.float32
            )
            # Not persistent: it belongs to the model around this one.
            self.register_buffer(
                f'input_{name}', value.view(-1, 1, 1).clone(), persistent=False
            )
        self.input_swapped = norm.swapped

    def normalize(self, image: Tensor) -> Tensor:
        """Replace the outer normalisation by B's own, (B, C, H, W)."""
        if not self.has_own_norm:
            return image
        own = InputNorm.of(self.segmentor.data_preprocessor)
        raw = exact(image * self.input_std + self.input_mean)
        if own.swapped != self.input_swapped and raw.shape[1] == 3:
            raw = raw.flip(1)
        return raw if own.mean is None else (raw - own.mean) / own.std

    def predict(
        self, image: Tensor, data_samples: Sequence[SegDataSample] | None
    ) -> Tensor:
        """Class probabilities (B, K_b, H, W) of a batch (B, C, H, W).

        They come from the cache where the pipeline has loaded them. B sees
        the image as it lies on disk where the pipeline has kept it. Else B
        sees each image of the batch without the padding of the batch.
        """
        samples = list(data_samples or ())
        if any('black_box_cache' in s.metainfo for s in samples):
            cached = [self.read_cached(sample) for sample in samples]
            return torch.stack(cached).to(image)
        metas = [s.metainfo for s in samples] or [{}] * len(image)
        kept = bool(samples) and all('black_box_image' in s for s in samples)
        if not kept and not any(any(padding_of(meta)) for meta in metas):
            return self._predict(image)
        size = len(image), self.num_classes, *image.shape[2:]
        probs = image.new_full(size, 1 / self.num_classes)
        for i, meta in enumerate(metas):
            inner = without_padding(image[i : i + 1], meta)
            if kept:
                own = self._predict_kept(samples[i], tuple(inner.shape[2:]))
            else:
                own = self._predict(inner)[0]
            without_padding(probs[i], meta).copy_(own)
        return probs

    def predict_file(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Predict an image as it lies on disk, as MMSeg's testing does.

        Args:
            image: (C, H, W) uint8, BGR.

        Returns:
            Probabilities (K_b, H, W) and MMSeg's decision (1, H, W).
        """
        array = image.permute(1, 2, 0).cpu().numpy()
        size = array.shape[:2]
        packed = self.transforms(
            dict(img=array, img_shape=size, ori_shape=size)
        )
        seen = packed['inputs'].to(image.device)
        samples = [packed['data_samples']]
        if self.has_own_norm:
            data = dict(inputs=[seen], data_samples=samples)
            data = self.segmentor.data_preprocessor(data, False)
            seen, samples = data['inputs'], data['data_samples']
        else:  # as the model around B would have it
            swaps = self.input_swapped and len(seen) == 3
            seen = (seen.flip(0) if swaps else seen)[None].float()
            seen = (seen - self.input_mean) / self.input_std
        with naming_the_size(size):
            (predicted,) = self.segmentor.predict(seen, samples)
        probs = predicted.seg_logits.data.float()
        if len(probs) == 1:  # MMSeg has already applied a sigmoid
            probs = torch.cat([1 - probs, probs])
        else:
            probs = probs.softmax(dim=0)
        return probs, predicted.pred_sem_seg.data

    def _predict_kept(
        self, sample: SegDataSample, size: tuple[int, int]
    ) -> Tensor:
        """Probabilities (K_b, h, w) of the image that the pipeline kept.

        B's decision at the size of the file goes into the data sample, as
        ``black_box_sem_seg`` (1, H, W).
        """
        probs, decision = self.predict_file(sample.black_box_image.data)
        sample.black_box_sem_seg = PixelData(data=decision)
        return follow_image(probs, sample.metainfo, size)

    def _predict(self, image: Tensor) -> Tensor:
        """Probabilities (B, K_b, H, W) of images without padding."""
        window = window_for(image)
        settings = getattr(self.segmentor, 'test_cfg', None) or {}
        if window and settings.get('mode') != 'slide':
            return stitch(lambda x, _: self._predict(x), image, None, *window)
        size = tuple(image.shape[2:])
        padded = self.normalize(image)
        if self.has_own_norm:
            own = self.segmentor.data_preprocessor
            padded = pad_as_in_testing(padded, own)
        meta = dict(
            ori_shape=size, img_shape=size, pad_shape=tuple(padded.shape[2:])
        )
        # Sliding windows change the meta information: one dict per image.
        metas = [dict(meta) for _ in image]
        with naming_the_size(size):
            logits = self.segmentor.inference(padded, metas).float()
        if logits.shape[2:] != padded.shape[2:]:
            logits = F.interpolate(
                logits, padded.shape[2:], mode='bilinear', align_corners=False
            )
        logits = logits[..., : size[0], : size[1]]
        if self.out_channels == 1:
            logits = torch.cat([torch.zeros_like(logits), logits], dim=1)
        return logits.softmax(dim=1)

    def train(self, mode: bool = True) -> 'BlackBox':
        """Stay in eval mode."""
        return super().train(False)

    def init_weights(self) -> None:
        """Keep the weights: they came with the checkpoint."""


def exact(raw: Tensor) -> Tensor:
    """Undo what normalising did to the last bits of 8-bit images."""
    rounded = raw.round()
    # Pixel by pixel: a look at the whole image would make a GPU wait.
    return torch.where((raw - rounded).abs() < 1e-4, rounded, raw)


@contextmanager
def naming_the_size(size: tuple[int, ...]) -> Iterator[None]:
    """Turn errors of networks that cannot take a size into a sentence."""
    try:
        yield
    except (AssertionError, RuntimeError) as error:
        # UNet asserts that it can halve a size, torch that a kernel fits.
        small = 'Kernel size' in str(error) or 'Output size' in str(error)
        if isinstance(error, RuntimeError) and not small:
            raise
        raise UserError(
            f'the black box cannot take images of {size} pixels '
            f'({error}): set black_box.data_preprocessor.test_cfg='
            'dict(size_divisor=...), or resize in the pipeline.'
        ) from error
