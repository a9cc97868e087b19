"""Any segmentation model as one that samples, without MMSegmentation.

A module, a function or an ONNX file gives class scores for a batch of images;
`WrappedModel` adds what lies around it: normalisation, sizes, windows, and
coherent samples of its probabilities.
"""

import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from typing_extensions import TypedDict, Unpack

from .sampling import content_key, sample_labels
from .sampling.drawing import SamplerSettings
from .utils.arrays import as_tensor
from .utils.checks import agree, at_least, one_of
from .utils.errors import UserError, naming_the_size
from .utils.windows import sides, stitch, windows

OUTPUTS = ('logits', 'probs', 'sigmoid')
# Where models keep their scores: torchvision's and Hugging Face's.
KEYS = ('out', 'logits')
ONNX_TYPES = dict(float=np.float32, float16=np.float16, double=np.float64)
Model = nn.Module | Callable[[Tensor], Any]
Size = tuple[int, int]


class WrapSettings(TypedDict, total=False):
    """How `WrappedModel` sees images and reads scores."""

    output: str
    key: str | int | None
    mean: float | Sequence[float]
    std: float | Sequence[float]
    bgr: bool
    size: Size | None
    divisor: int
    window: Size | None
    stride: Size | None


class WrappedModel(nn.Module):
    """Any segmentation model of two dimensions as one that samples.

    Args:
        model: A module, any callable, the path of an ONNX file, or the name
            ``'package.module:factory'`` of a function that makes one of
            them. It takes images (B, C, H, W), float32, and gives scores
            (B, K, h, w).
        output: What the scores are: 'logits' of K classes, their 'probs', or
            'sigmoid': logits (B, 1, h, w) of the foreground. One channel of
            'probs' is that of the foreground, too. Scores of another size
            are resized as they are, logits as logits.
        key: Where the scores are if the model gives a dict, an object or a
            tuple: key, attribute or index. By default ``out`` (torchvision)
            or ``logits`` (Hugging Face).
        mean: Taken off each channel of the pixels as they are given, of 0 to
            255 for 8 bits. Files are read with as many channels as it has
            numbers, in colours if it is one number and no list.
        std: What each channel is then divided by.
        bgr: The model wants the channels of colour images reversed; ``mean``
            and ``std`` are in its order.
        size: Height and width that the model sees: images are resized to it,
            and probabilities back.
        divisor: Images are padded at the bottom and right to a multiple of
            it, by repeating their edge; what is said of it is cut off.
        window: Height and width of windows in which large images are seen;
            probabilities are averaged where windows overlap.
        stride: Distance of windows, two thirds of them by default.
        classes: Names of the K classes, of which 'sigmoid' has two.

    Example:
        >>> net = nn.Conv2d(3, 2, 3, padding=1).eval()
        >>> model = WrappedModel(net, mean=[124, 116, 104], std=[58, 57, 57])
        >>> images = torch.randint(256, (1, 3, 32, 48), dtype=torch.uint8)
        >>> model.sample(images, num_samples=4).shape
        torch.Size([1, 4, 32, 48])
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self,
        model: Model | str | Path,
        *,
        output: str = 'logits',
        key: str | int | None = None,
        mean: float | Sequence[float] = 0.0,
        std: float | Sequence[float] = 1.0,
        bgr: bool = False,
        size: Size | None = None,
        divisor: int = 1,
        window: Size | None = None,
        stride: Size | None = None,
        classes: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        one_of(OUTPUTS, output=output)
        at_least(1, divisor=divisor)
        self.model = load(model)
        self.output, self.key, self.bgr = output, key, bgr
        self.size = None if size is None else sides('size', size)
        self.divisor = divisor
        self.window = windows(window, stride)
        self.classes = classes
        if isinstance(classes, str | int):
            raise UserError(f'classes={classes!r}: expected a list of names')
        for name, value, low in (('mean', mean, -torch.inf), ('std', std, 0)):
            try:
                row = torch.as_tensor(value, dtype=torch.float32)
            except (TypeError, ValueError, RuntimeError):
                row = torch.tensor(torch.nan)
            if not ((row > low) & (row < torch.inf)).all():
                raise UserError(f'{name}={value!r}: expected numbers > {low}')
            self.register_buffer(name, row.reshape(-1, 1, 1), persistent=False)
        self.channels = self.mean.numel() if np.ndim(mean) else 3
        device = next(self.parameters(), self.mean).device  # images go there
        self.mean, self.std = self.mean.to(device), self.std.to(device)
        self.eval()

    def train(self, mode: bool = True) -> 'WrappedModel':
        """Stay in evaluation mode."""
        return super().train(False)

    @torch.no_grad()
    def forward(self, images: Tensor | np.ndarray) -> Tensor:
        """Class probabilities (B, K, H, W) of images.

        Args:
            images: (B, C, H, W), as pixels are stored; as NumPy array
                (B, H, W, C).
        """
        refuse_training(self.model)
        pixels = as_pixels(images).to(self.mean.device)
        pixels = pixels.flip(1) if self.bgr else pixels
        channels = pixels.shape[1]
        if {self.mean.numel(), self.std.numel()} - {1, channels}:
            raise UserError(
                f'images of {channels} channels, but mean and std have '
                f'{self.mean.numel()} and {self.std.numel()} numbers'
            )
        highest = pixels.max()
        small = self.std.max() < 1 < highest / 2
        if small or 0 < highest <= 1 < self.mean.min():
            warnings.warn(
                f'pixels are up to {highest:.3g}, which mean and std do not '
                'look made for: give them in the range of the pixels',
                stacklevel=2,
            )
        inputs = (pixels - self.mean) / self.std
        return stitch(lambda x, _: self._see(x), inputs, None, self.window)

    def sample(
        self,
        images: Tensor | np.ndarray,
        num_samples: int = 16,
        seed: int = 0,
        **sampler: Unpack[SamplerSettings],
    ) -> Tensor:
        """Draw coherent label maps.

        Args:
            images: See :meth:`forward`.
            num_samples: Label maps per image, S.
            seed: Of the samples.
            sampler: Further settings of `sample_labels`, ``floor`` say.
                Noise follows from the pixels of an image, or its key.

        Returns:
            (B, S, H, W).
        """
        return self._draw(images, num_samples, seed, **sampler)[1]

    def _draw(
        self,
        images: Tensor | np.ndarray,
        num_samples: int,
        seed: int,
        **sampler: Unpack[SamplerSettings],
    ) -> tuple[Tensor, Tensor]:
        """Probabilities (B, K, H, W) and samples (B, S, H, W)."""
        sampler.setdefault('keys', [*map(content_key, as_pixels(images))])
        probs = self(images)
        labels = sample_labels(
            probs, num_samples, seed, kind='probs', **sampler
        )
        return probs, labels

    def _see(self, inputs: Tensor) -> Tensor:
        """Probabilities (B, K, H, W) of normalised images of that size."""
        height, width = inputs.shape[2:]
        seen = inputs
        if self.size is not None:
            seen = F.interpolate(
                seen, self.size, mode='bilinear', antialias=True
            )
        inner = seen.shape[2:]
        down, right = (-side % self.divisor for side in inner)
        seen = F.pad(seen, (0, right, 0, down), mode='replicate')
        weight = next(self.parameters(), seen)
        if weight.is_floating_point():  # of half or double precision
            seen = seen.to(weight.dtype)
        with naming_the_size(seen.shape[2:], 'divisor or size'):
            found = self.model(seen)
        probs = self._probs(found, seen)
        if self.classes is not None:
            given = {'classes of the model': probs.shape[1]}
            agree({'names in classes': len(self.classes), **given})
        probs = probs[..., : inner[0], : inner[1]]
        if probs.shape[2:] != (height, width):
            probs = F.interpolate(
                probs, (height, width), mode='bilinear', antialias=True
            )
        return probs / probs.sum(1, keepdim=True)

    def _probs(self, found: Any, seen: Tensor) -> Tensor:
        """Probabilities (B, K, H, W) of what the model gave of images."""
        scores = as_tensor('what the model gives', self._pick(found))
        scores = scores.to(self.mean.device, torch.float32)
        shape, number = tuple(map(int, scores.shape)), len(seen)
        if scores.dim() != 4 or shape[0] != number or 0 in shape:
            raise UserError(
                f'the model gives {shape} for {number} images: expected '
                '(images, classes, height, width); volumes are not supported'
            )
        if not scores.isfinite().all():
            raise UserError('the model gives NaN or infinite scores')
        one, probs = shape[1] == 1, self.output == 'probs'
        if not probs and (self.output == 'sigmoid') != one:
            raise UserError(
                f"the model gives {shape[1]} channels: 'sigmoid' is of one, "
                f"'logits' of more, 'probs' of any; output={self.output!r}"
            )
        inside = bool(((scores >= -1e-4) & (scores <= 1 + 1e-4)).all())
        if one:
            if inside and not probs and scores.max() > scores.min():
                warnings.warn(
                    "output='sigmoid', but all scores are in [0, 1]: if they "
                    "are probabilities already, say output='probs'",
                    stacklevel=2,
                )
            ground = 1 - scores if probs else 0 * scores
            scores = torch.cat((ground, scores), 1)
        adds_up = inside and bool(((scores.sum(1) - 1).abs() < 1e-3).all())
        if self.output != 'sigmoid' and adds_up != probs:
            what = 'are' if adds_up else 'are not'
            raise UserError(
                f'output={self.output!r}, but the scores {what} '
                'probabilities that add up to 1'
            )
        check_sides(scores, seen)
        if scores.shape[2:] != seen.shape[2:]:  # as of networks with a stride
            scores = F.interpolate(scores, seen.shape[2:], mode='bilinear')
        return scores if probs else scores.softmax(1)

    def _pick(self, found: Any) -> Any:
        """The scores among all that the model gave."""
        if isinstance(found, (Tensor, np.ndarray)):
            return found
        keys = KEYS if self.key is None else (self.key,)
        for key in keys:
            try:
                return found[key]
            except (KeyError, IndexError, TypeError):
                if isinstance(key, str) and hasattr(found, key):
                    return getattr(found, key)
        names = list(found) if isinstance(found, dict) else type(found)
        raise UserError(f'the model gives {names}: name the scores by key=')


def as_pixels(images: Tensor | np.ndarray) -> Tensor:
    """Images (B, C, H, W), float32, of tensors or NumPy's (B, H, W, C)."""
    pixels = as_tensor('images', images).float()
    if isinstance(images, np.ndarray) and pixels.dim() == 4:
        pixels = pixels.movedim(-1, 1)
    if pixels.dim() != 4 or 0 in pixels.shape or pixels.shape[1] > 16:
        raise UserError(
            'images: expected a tensor (B, C, H, W) or an array (B, H, W, C) '
            f'of 1 to 16 channels, got {tuple(images.shape)}'
        )
    if not pixels.isfinite().all():
        raise UserError('images: found NaN or infinite pixels')
    return pixels


def load(model: Model | str | Path) -> Model:
    """The callable that a path or name stands for."""
    if isinstance(model, (str, Path)):
        name = str(model)
        if name.lower().endswith('.onnx'):
            return OnnxModel(name)
        model = call_factory(name)
    refuse_training(model)
    if not callable(model) or isinstance(model, type):
        raise UserError(
            'model: expected a module, a callable, an .onnx file or '
            f"'package.module:factory', got {type(model).__name__}"
        )
    return model


def refuse_training(model: Model) -> None:
    """Raise a UserError if a module or a part of it is in training mode."""
    parts = model.named_modules() if isinstance(model, nn.Module) else ()
    for name, part in parts:
        if part.training:
            raise UserError(
                f'{name or type(model).__name__} is in training mode: load '
                'the weights, then call model.eval()'
            )


def check_sides(probs: Tensor, seen: Tensor) -> None:
    """Raise a UserError if maps (B, K, h, w) cannot be of these images.

    Networks with a stride round, but by a pixel only. Another ratio of the
    sides is another order of axes.
    """
    (rows, columns), (height, width) = probs.shape[2:], seen.shape[2:]
    if abs(rows * width - columns * height) > height + width:
        raise UserError(
            f'the model gives {tuple(probs.shape)} for {height}x{width}: '
            'expected that ratio; if it resizes images itself, set size'
        )


def call_factory(name: str) -> Any:
    """What ``'package.module:factory'`` makes; modules in evaluation mode."""
    path, _, function = name.partition(':')
    if not function:
        raise UserError(
            f"{name!r}: expected 'package.module:factory' or an .onnx file"
        )
    try:
        factory = getattr(import_module(path), function)
    except (ImportError, AttributeError) as error:
        raise UserError(
            f'{name!r} cannot be imported ({error}): set PYTHONPATH'
        ) from error
    made = factory()
    return made.eval() if isinstance(made, nn.Module) else made


class OnnxModel:
    """An ONNX file that takes images, run by ONNX Runtime.

    Args:
        path: The file.
    """

    def __init__(self, path: str) -> None:
        if not Path(path).is_file():
            raise UserError(f'{path}: no such file; expected an ONNX model')
        try:
            import onnxruntime
        except ImportError as error:
            raise UserError(
                f'{path} needs ONNX Runtime: pip install onnxruntime'
            ) from error
        try:
            self.session = onnxruntime.InferenceSession(path)
        except Exception as error:  # the runtime's own kinds have no base
            raise UserError(f'{path}: no ONNX model ({error})') from error
        self.path = path
        nodes = self.session.get_inputs()
        self.inputs = [node.name for node in nodes]
        kind = nodes[0].type.removeprefix('tensor(')[:-1]
        if len(nodes) != 1 or kind not in ONNX_TYPES:
            raise UserError(
                f'{path}: expected one input, images of '
                f'{"or ".join(ONNX_TYPES)}, got {[*map(str, nodes)]}'
            )
        self.dtype = ONNX_TYPES[kind]

    def __call__(self, images: Tensor) -> Any:
        """Scores (B, K, h, w), or all outputs by name if there are more."""
        feeds = {self.inputs[0]: images.cpu().numpy().astype(self.dtype)}
        try:
            found = self.session.run(None, feeds)
        except Exception as error:  # likewise
            raise UserError(
                f'{self.path} cannot take images {tuple(images.shape)} '
                f'({" ".join(str(error).split())}); size, divisor, window or '
                'fewer images at once may help'
            ) from error
        if len(found) == 1:
            return found[0]
        names = [node.name for node in self.session.get_outputs()]
        return dict(zip(names, found, strict=True))
