"""The black box B: any trained segmentation model, frozen."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from mmengine.config import ConfigDict
from mmengine.logging import print_log
from mmengine.model import BaseModule
from mmseg.registry import MODELS
from torch import Tensor

from ...structures.geometry import without_padding
from ...utils.errors import UserError
from ..data_preprocessor import InputNorm
from .stock import load_black_box_weights, read_segmentor_config


@MODELS.register_module()
class BlackBox(BaseModule):
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
    ) -> None:
        super().__init__()
        forms = dict(segmentor=segmentor, backbone=backbone, config=config)
        given = [key for key, value in forms.items() if value is not None]
        if len(given) != 1 or (backbone is None) != (decode_head is None):
            raise UserError(
                'A black box is one of `segmentor`, `config`, or `backbone` '
                f'with `decode_head`; got {given or "none of them"}'
                f'{" and decode_head" if decode_head else ""}.'
            )
        if backbone is not None:
            segmentor = dict(
                type='EncoderDecoder',
                backbone=backbone,
                neck=neck,
                decode_head=decode_head,
            )
        elif config is not None:
            zoo_weights = checkpoint == 'pretrained'
            segmentor = read_segmentor_config(config, zoo_weights)
            checkpoint = segmentor.pop('zoo_weights', checkpoint)
        segmentor = ConfigDict(segmentor)
        if data_preprocessor is not None:
            segmentor.data_preprocessor = data_preprocessor
        self.has_own_norm = segmentor.get('data_preprocessor') is not None
        if segmentor.get('auxiliary_head') is not None:
            segmentor.auxiliary_head = None  # only of use in training
        if segmentor.get('test_cfg') is None:
            segmentor.test_cfg = ConfigDict(mode='whole')
        self.segmentor = MODELS.build(segmentor)
        if checkpoint is None:
            print_log(
                'The black box has no checkpoint: its weights are random '
                'until a checkpoint of the whole model is loaded.',
                logger='current',
            )
        else:
            load_black_box_weights(self.segmentor, checkpoint)
        self.requires_grad_(False)
        self.eval()
        self.out_channels = self.segmentor.out_channels
        self.num_classes = max(2, self.out_channels)
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
        raw = image * self.input_std + self.input_mean
        if own.swapped != self.input_swapped and raw.shape[1] == 3:
            raw = raw.flip(1)
        return raw if own.mean is None else (raw - own.mean) / own.std

    @torch.no_grad()
    def forward(
        self, image: Tensor, data_samples: Sequence | None = None
    ) -> Tensor:
        """Predict class probabilities.

        B sees each image without the padding of this batch, and with the
        padding that B's own preprocessor gives it in testing. B's own
        ``test_cfg`` decides between whole images and sliding windows. A head
        with a single output channel (foreground against background) gives
        two classes.

        Args:
            image: Images as the model around B sees them, (B, C, H, W).
            data_samples: Their metainfo says how they were padded.

        Returns:
            (B, K_b, H, W); where an image was padded, all classes are
            equally likely.
        """
        metas = [sample.metainfo for sample in data_samples or ()]
        metas = metas or [{}] * len(image)
        inner = [
            without_padding(one[None], meta)
            for one, meta in zip(image, metas, strict=True)
        ]
        if all(one.shape[2:] == image.shape[2:] for one in inner):
            return self._predict(image)
        size = len(image), self.num_classes, *image.shape[2:]
        probs = image.new_full(size, 1 / self.num_classes)
        for row, one, meta in zip(probs, inner, metas, strict=True):
            without_padding(row[None], meta).copy_(self._predict(one))
        return probs

    def _predict(self, image: Tensor) -> Tensor:
        """Probabilities (B, K_b, H, W) of images without padding."""
        size = tuple(image.shape[2:])
        padded = self._pad(self.normalize(image))
        meta = dict(
            ori_shape=size, img_shape=size, pad_shape=tuple(padded.shape[2:])
        )
        # Sliding windows change the meta information: one dict per image.
        metas = [dict(meta) for _ in image]
        try:
            logits = self.segmentor.inference(padded, metas).float()
        except AssertionError as error:  # UNet's, of sizes it cannot halve
            raise UserError(
                f'the black box cannot take images of {size} pixels '
                f'({error}): set black_box.data_preprocessor.test_cfg='
                'dict(size_divisor=...), or resize in the pipeline.'
            ) from error
        if logits.shape[2:] != padded.shape[2:]:
            logits = F.interpolate(
                logits, padded.shape[2:], mode='bilinear', align_corners=False
            )
        logits = logits[..., : size[0], : size[1]]
        if self.out_channels == 1:
            logits = torch.cat([torch.zeros_like(logits), logits], dim=1)
        return logits.softmax(dim=1)

    def _pad(self, image: Tensor) -> Tensor:
        """Pad as B's own preprocessor does in testing, (B, C, H', W')."""
        own = self.segmentor.data_preprocessor
        cfg = getattr(own, 'test_cfg', None) if self.has_own_norm else None
        if not cfg:
            return image
        height, width = cfg.get('size') or image.shape[2:]
        divisor = cfg.get('size_divisor') or 1
        bottom = max(-(-height // divisor) * divisor - image.shape[2], 0)
        right = max(-(-width // divisor) * divisor - image.shape[3], 0)
        return F.pad(image, (0, right, 0, bottom), value=own.pad_val)

    def train(self, mode: bool = True) -> 'BlackBox':
        """Stay in eval mode."""
        return super().train(False)

    def init_weights(self) -> None:
        """Keep the weights: they came with the checkpoint."""
