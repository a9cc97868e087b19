"""The black box B: any trained segmentation model, frozen."""

import torch
import torch.nn.functional as F
from mmengine.config import ConfigDict
from mmseg.models import EncoderDecoder
from mmseg.registry import MODELS
from torch import Tensor
from typing_extensions import Unpack

from ...utils.errors import naming_the_size
from ...utils.windows import Window, window_of
from ..data_preprocessor import InputNorm, pad_as_in_testing
from ..weights import load_checkpoint
from .frozen import FrozenBlackBox
from .full_image import image_transforms
from .mmseg_model import ModelSettings, find_model, identify

DIVISOR = 'black_box.data_preprocessor.test_cfg=dict(size_divisor=...)'


@MODELS.register_module()
class BlackBox(FrozenBlackBox):
    """A frozen MMSeg model that gives class probabilities.

    Exactly one of ``segmentor``, ``config`` and ``backbone`` with
    ``decode_head`` says what it is.

    Args:
        one_hot: See :class:`BaseBlackBox`.
        segmentor: Config of any registered segmentor.
        backbone: Config of a backbone.
        decode_head: Config of a decode head.
        neck: Config of a neck between them.
        config: Path of a config file, or ``'mmseg::...'`` for one of MMSeg's
            own.
        checkpoint: Path or URL of its weights; 'pretrained' for those that
            MMSeg offers for a config of its own; None if a checkpoint of the
            whole model brings them. Weights that the config names for the
            start of training (``pretrained``, ``init_cfg``) are never loaded.
        data_preprocessor: Config of the normalisation that B was trained
            with, if not in its own config. Without any, B sees the images as
            the model around it does.
        test_pipeline: What B does to images on disk before it sees them,
            e.g. a resize; that of ``config`` by default. Steps that load
            and pack are left out.

    Attributes:
        starts_trained: Whether it has weights of its own from the start.
    """

    def __init__(
        self, one_hot: bool = False, **settings: Unpack[ModelSettings]
    ) -> None:
        found = find_model(settings)
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
                f'black_box.checkpoint={found.weights!r}',
            )
        self.eval()

    def normalize(self, image: Tensor) -> Tensor:
        """Replace the outer normalisation by B's own, (B, C, H, W)."""
        if not self.has_own_norm:
            return image
        own = InputNorm.of(self.segmentor.data_preprocessor)
        raw = self.pixels(image, own.swapped)
        return raw if own.mean is None else (raw - own.mean) / own.std

    identify = staticmethod(identify)

    @property
    def window(self) -> Window | None:
        """The windows of its segmentor's ``test_cfg``."""
        settings = getattr(self.segmentor, 'test_cfg', None) or {}
        if settings.get('mode') != 'slide':
            return None
        return settings['crop_size'], settings['stride']

    def set_window(self, window: Window) -> None:
        """See large images in these windows from now on."""
        crop_size, stride = window
        self.segmentor.test_cfg = ConfigDict(
            mode='slide', crop_size=crop_size, stride=stride
        )

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
        with naming_the_size(size, DIVISOR):
            (predicted,) = self.segmentor.predict(seen, samples)
        probs = predicted.seg_logits.data.float()
        if len(probs) == 1:  # MMSeg has already applied a sigmoid
            probs = torch.cat([1 - probs, probs])
        else:
            probs = probs.softmax(dim=0)
        return probs, predicted.pred_sem_seg.data

    def see(self, image: Tensor) -> Tensor:
        """Probabilities (B, K_b, H, W) of images without padding."""
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
        with naming_the_size(size, DIVISOR):
            logits = self.segmentor.inference(padded, metas).float()
        if logits.shape[2:] != padded.shape[2:]:
            logits = F.interpolate(
                logits, padded.shape[2:], mode='bilinear', align_corners=False
            )
        logits = logits[..., : size[0], : size[1]]
        if self.out_channels == 1:
            logits = torch.cat([torch.zeros_like(logits), logits], dim=1)
        return logits.softmax(dim=1)
