"""Black boxes that are none of MMSeg's: PyTorch modules and ONNX files."""

import hashlib
from collections.abc import Mapping
from typing import Any

import torch
from mmseg.registry import MODELS
from torch import Tensor, nn
from typing_extensions import Unpack

from ...utils.checks import agree
from ...utils.errors import UserError
from ...utils.windows import Window
from ...wrapped_model import OnnxModel, WrappedModel, WrapSettings
from ..weights import load_checkpoint
from .frozen import FrozenBlackBox
from .mmseg_model import hash_file, identity

TRIED = 64, 64  # height and width of an image that shows how many classes


class WrappedBlackBox(FrozenBlackBox):
    """A model of any kind that gives class scores.

    Args:
        model: See :class:`mmcar.wrap`: its name or file.
        checkpoint: Its weights; None if it brings them.
        num_classes: Number of classes K_b; by default what it gives of an
            image of 64x64, of its ``size`` or of its ``window``.
        one_hot: See :class:`BaseBlackBox`.
        settings: Those of :class:`mmcar.wrap`: ``mean``, ``std``, ``bgr``,
            ``size``, ``divisor``, ``window``, ``stride``, ``output``, ``key``.
    """

    def __init__(
        self,
        model: str,
        checkpoint: str | None = None,
        num_classes: int | None = None,
        one_hot: bool = False,
        **settings: Unpack[WrapSettings],
    ) -> None:
        wrapped = WrappedModel(model, **settings)
        if checkpoint is not None:
            if not isinstance(wrapped.model, nn.Module):
                raise UserError(
                    f'black_box.checkpoint={checkpoint!r}: {model} makes no '
                    'torch.nn.Module that could load it; leave it out'
                )
            load_checkpoint(
                wrapped.model,
                checkpoint,
                f'black_box.checkpoint={checkpoint!r}, {model}',
            )
        found = count_classes(wrapped) if num_classes is None else num_classes
        super().__init__(found, one_hot)
        self.wrapped = wrapped
        self.requires_grad_(False)
        self.eval()

    @staticmethod
    def identify(cfg: Mapping) -> dict[str, str]:
        """Hashes of the settings and of all weights."""
        name = str(cfg.get('module') or cfg.get('path'))
        left_out = ('checkpoint', 'one_hot')
        settings = {k: v for k, v in cfg.items() if k not in left_out}
        weights = content_of(MODELS.build(cfg).wrapped.model)
        checkpoint = cfg.get('checkpoint') or name
        short = name.rpartition(':')[2]
        return identity(short, checkpoint, settings, weights)

    @property
    def window(self) -> Window | None:
        """Its own windows; one that resizes images sees them whole."""
        own = self.wrapped
        return own.window or (own.size and (own.size, own.size))

    def set_window(self, window: Window) -> None:
        """See large images in these windows from now on."""
        self.wrapped.window = window

    def predict_file(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Predict an image as it lies on disk.

        Args:
            image: (C, H, W) uint8, BGR.

        Returns:
            Probabilities (K_b, H, W) and the decision (1, H, W).
        """
        image = image.flip(0) if len(image) == 3 else image
        (probs,) = self._probs(image[None].float())
        return probs, probs.argmax(0, keepdim=True)

    def see(self, image: Tensor) -> Tensor:
        """Probabilities (B, K_b, H, W) of images without padding."""
        return self._probs(self.pixels(image, swapped=True))

    def _probs(self, image: Tensor) -> Tensor:
        """Probabilities (B, K_b, H, W) of RGB images (B, C, H, W)."""
        probs = self.wrapped(image)
        found = {'classes of the model': probs.shape[1]}
        agree({'black_box.num_classes': self.num_classes, **found})
        return probs


@MODELS.register_module()
class TorchBlackBox(WrappedBlackBox):
    """A PyTorch module of any library.

    Args:
        module: ``'package.module:factory'``, a function without arguments
            that makes it.
        checkpoint: Path or URL of its weights, a state dict or a dict with
            the key ``state_dict``; None if the function loads them.
        kwargs: Further arguments of :class:`WrappedBlackBox`.
    """

    def __init__(self, module: str, **kwargs: Any) -> None:
        super().__init__(module, **kwargs)


@MODELS.register_module()
class OnnxBlackBox(WrappedBlackBox):
    """An ONNX file that takes images; no state dict holds its weights.

    Args:
        path: The file.
        kwargs: Further arguments of :class:`WrappedBlackBox`.
    """

    def __init__(self, path: str, **kwargs: Any) -> None:
        super().__init__(path, **kwargs)


def count_classes(wrapped: WrappedModel) -> int:
    """The classes that a model gives of a black image."""
    size = wrapped.window[0] if wrapped.window else wrapped.size or TRIED
    channels = wrapped.channels
    try:
        return wrapped(torch.zeros(1, channels, *size)).shape[1]
    except UserError:
        raise
    except Exception as error:  # runtimes have kinds of their own
        raise UserError(
            f'the black box cannot take {channels} channels, {size} pixels '
            f'({error}); set black_box.num_classes, and size if it has one'
        ) from error


def content_of(model: object) -> str:
    """A hash of the weights of a module, or of an ONNX file."""
    if isinstance(model, OnnxModel):
        return hash_file(model.path)
    if not isinstance(model, nn.Module):
        raise UserError(
            'black_box.module makes no torch.nn.Module: its predictions '
            'cannot be cached, as no weights tell it from others'
        )
    digest = hashlib.sha256()
    for name, weight in model.state_dict().items():
        digest.update(f'{name} {weight.dtype} {weight.shape}'.encode())
        digest.update(weight.cpu().numpy().tobytes())
    return digest.hexdigest()
