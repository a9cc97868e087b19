"""The black box B: any trained segmentation model, frozen."""

from collections.abc import Sequence
from urllib.error import URLError

import torch
import torch.nn.functional as F
from mmengine.config import Config, ConfigDict
from mmengine.hub import get_config
from mmengine.logging import print_log
from mmengine.model import BaseModule
from mmengine.runner.checkpoint import CheckpointLoader
from mmseg.registry import MODELS
from torch import Tensor, nn

from ..compat import swaps_channels
from ..utils.errors import MissingFileError, UserError


def read_segmentor_config(path: str, zoo_weights: bool = False) -> ConfigDict:
    """Read the model of an MMSeg config.

    Args:
        path: Config file, or a stock one as ``'mmseg::deeplabv3/...py'``.
        zoo_weights: Also look up the address of its stock weights.

    Returns:
        The model config, with its data preprocessor (which some configs keep
        beside the model) and, if asked for, ``zoo_weights``.
    """
    try:
        if '::' in path:
            cfg = get_config(path, pretrained=zoo_weights)
        else:
            cfg = Config.fromfile(path)
    except FileNotFoundError as error:
        raise MissingFileError(
            f'black_box.config={path!r} does not exist: expected the path of '
            "an MMSeg config file or 'mmseg::<folder>/<name>.py'."
        ) from error
    if 'model' not in cfg:
        raise UserError(f'black_box.config={path!r} has no key `model`.')
    model = cfg.model
    if model.get('data_preprocessor') is None:
        model.data_preprocessor = cfg.get('data_preprocessor')
    if zoo_weights:
        if cfg.get('model_path') is None:
            raise UserError(
                "black_box.checkpoint='pretrained' needs a stock config "
                "('mmseg::...') that MMSeg has weights for, but "
                f'black_box.config={path!r}.'
            )
        model.zoo_weights = cfg.model_path
    return model


def load_black_box_weights(model: nn.Module, checkpoint: str) -> None:
    """Load a checkpoint (file or URL), which must fit the whole of B.

    Raises:
        FileNotFoundError: There is no such file, or no way to it.
        ValueError: It lacks weights of the model or has them in other shapes.
    """
    try:
        loaded = CheckpointLoader.load_checkpoint(checkpoint, 'cpu', None)
    except (FileNotFoundError, URLError) as error:
        raise MissingFileError(
            f'black_box.checkpoint={checkpoint!r} cannot be read ({error}). '
            'Give the path of a checkpoint of the black box, or None if '
            'its weights are in a checkpoint of the whole model.'
        ) from error
    state = loaded.get('state_dict', loaded)
    state = {key.removeprefix('module.'): w for key, w in state.items()}
    own = model.state_dict()
    problems = [
        f'{key}: {tuple(state[key].shape)} in the file, '
        f'{tuple(own[key].shape)} in the model'
        for key in own.keys() & state.keys()
        if state[key].shape != own[key].shape
    ]
    if not problems:
        # The modules may rename keys of old checkpoints while they load.
        missing = model.load_state_dict(state, strict=False).missing_keys
        problems = [
            f'{key}: not in the file'
            for key in missing
            if not key.endswith('num_batches_tracked')
        ]
    if problems:
        shown = '\n  '.join(sorted(problems)[:8])
        raise UserError(
            f'black_box.checkpoint={checkpoint!r} does not fit the black box, '
            f'{len(problems)} of its {len(own)} weights differ:\n  {shown}\n'
            'Give the config that this checkpoint was trained with.'
        )


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
        self.set_input_norm(None, None, False)

    def set_input_norm(
        self,
        mean: Sequence[float] | Tensor | None,
        std: Sequence[float] | Tensor | None,
        bgr_to_rgb: bool,
    ) -> None:
        """Say how the images that arrive here have been normalised.

        Args:
            mean: Mean per channel that was subtracted, None for none.
            std: Standard deviation per channel that was divided by.
            bgr_to_rgb: Whether the order of channels was reversed.
        """
        for name, value, neutral in (('mean', mean, 0.0), ('std', std, 1.0)):
            value = torch.as_tensor(
                neutral if value is None else value, dtype=torch.float32
            )
            # Not persistent: it belongs to the model around this one.
            self.register_buffer(
                f'input_{name}', value.view(-1, 1, 1).clone(), persistent=False
            )
        self.input_reversed = bool(bgr_to_rgb)

    def normalize(self, image: Tensor) -> Tensor:
        """Replace the outer normalisation by B's own, (B, C, H, W)."""
        if not self.has_own_norm:
            return image
        own = self.segmentor.data_preprocessor
        raw = image * self.input_std + self.input_mean
        reverse = swaps_channels(own)
        if reverse != self.input_reversed and raw.shape[1] == 3:
            raw = raw.flip(1)
        if getattr(own, 'mean', None) is None:
            return raw
        return (raw - own.mean) / own.std

    @torch.no_grad()
    def forward(
        self, image: Tensor, data_samples: Sequence | None = None
    ) -> Tensor:
        """Predict class probabilities.

        A head with a single output channel (foreground against background)
        gives two classes. B's own ``test_cfg`` decides between whole images
        and sliding windows.

        Args:
            image: Images as the model around B sees them, (B, C, H, W).
            data_samples: Not used.

        Returns:
            (B, K_b, H, W).
        """
        size = image.shape[2:]
        meta = dict(ori_shape=size, img_shape=size, pad_shape=size)
        # Sliding windows change the meta information: one dict per image.
        metas = [dict(meta) for _ in image]
        logits = self.segmentor.inference(self.normalize(image), metas).float()
        if logits.shape[2:] != size:
            logits = F.interpolate(
                logits, size, mode='bilinear', align_corners=False
            )
        if self.out_channels == 1:
            logits = torch.cat([torch.zeros_like(logits), logits], dim=1)
        return logits.softmax(dim=1)

    def train(self, mode: bool = True) -> 'BlackBox':
        """Stay in eval mode."""
        return super().train(False)

    def init_weights(self) -> None:
        """Keep the weights: they came with the checkpoint."""


@MODELS.register_module()
class CachedBlackBox(nn.Module):
    """Predictions of any model, read from disk by the data pipeline.

    Args:
        num_classes: Number of classes of the predictions, K_b.
    """

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.num_classes = num_classes

    def set_input_norm(
        self,
        mean: Sequence[float] | Tensor | None,
        std: Sequence[float] | Tensor | None,
        bgr_to_rgb: bool,
    ) -> None:
        """Nothing to do: the images are not looked at."""

    @torch.no_grad()
    def forward(self, image: Tensor, data_samples: Sequence | None) -> Tensor:
        """Collect the predictions of a batch.

        Predictions of another resolution are resized to the image; where the
        image was padded, all classes are equally likely.

        Args:
            image: (B, C, H, W).
            data_samples: B data samples with ``black_box_probs``.

        Returns:
            (B, K_b, H, W).
        """
        batch = image.new_full(
            (len(image), self.num_classes, *image.shape[2:]),
            1 / self.num_classes,
        )
        if data_samples is None:
            raise UserError('CachedBlackBox needs data samples, got None.')
        for out, sample in zip(batch, data_samples, strict=True):
            probs = self._read(sample).to(batch)
            size = tuple(sample.metainfo.get('img_shape', image.shape[2:]))[:2]
            if probs.shape[1:] != size:
                probs = F.interpolate(
                    probs[None], size, mode='bilinear', align_corners=False
                )[0]
            out[:, : size[0], : size[1]] = probs
        return batch

    def _read(self, sample: object) -> Tensor:
        name = sample.metainfo.get('img_path', 'an image')
        if 'black_box_probs' not in sample:
            raise UserError(
                f'CachedBlackBox: no `black_box_probs` for {name}. Add '
                'LoadBlackBoxProbs to the pipeline.'
            )
        probs = sample.black_box_probs.data
        if len(probs) != self.num_classes:
            raise UserError(
                f'CachedBlackBox: the predictions for {name} have '
                f'{len(probs)} classes, but black_box.num_classes='
                f'{self.num_classes}.'
            )
        return probs
