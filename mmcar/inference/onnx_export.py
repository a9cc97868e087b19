"""A model that samples as an ONNX graph, with its noise as an input."""

import io
import math
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from mmseg.models.utils import Upsample
from torch import Tensor, nn

from ..models import CARSegmentor
from ..models.black_boxes.base import prior_of
from ..models.data_preprocessor import InputNorm, pad_as_in_testing
from ..utils.errors import UserError

OPSET = 17
INPUTS = ('image', 'noise')
OUTPUTS = ('labels', 'log_probs')
_AXES = dict(
    image={0: 'batch', 2: 'height', 3: 'width'},
    noise={0: 'samples', 1: 'batch'},
    labels={0: 'samples', 1: 'batch', 2: 'height', 3: 'width'},
    log_probs={0: 'batch', 2: 'height', 3: 'width'},
)
# log erfc(x) = log t - x^2 + sum_i c_i t^i with t = 1 / (1 + x / 2), a
# Chebyshev fit for x >= 0 with a relative error of erfc below 1.2e-7.
_ERFC = (
    *(-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806),
    *(0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277),
)


class OnnxSampler(nn.Module):
    """What the graph computes: pixels and noise to label maps.

    Args:
        model: The model; it must not need data samples.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, model: CARSegmentor) -> None:
        super().__init__()
        self.model = model
        norm = InputNorm.of(model.data_preprocessor)
        self.swapped = norm.swapped
        for name, given, neutral in (
            ('mean', norm.mean, 0.0),
            ('std', norm.std, 1.0),
        ):
            value = torch.as_tensor(neutral if given is None else given)
            self.register_buffer(name, value.float().view(-1, 1, 1).clone())
        self.eval()  # torch restores the mode that it finds, of all modules

    def forward(self, image: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Sample label maps.

        Args:
            image: Pixels as the data set's pipeline loads them, float32
                (B, C, H, W): 0 to 255, BGR for colour. It is padded in here
                as in testing.
            noise: Standard normal numbers (S, B, d).

        Returns:
            Label maps (S, B, H, W) and F's log-probabilities (B, K, H, W).
        """
        height, width = image.shape[-2:]
        image = image.flip(1) if self.swapped else image
        image = (image - self.mean) / self.std
        head = self.model.decode_head
        padded = pad_as_in_testing(image, self.model.data_preprocessor)
        prior = prior_of(head.black_box, image)  # B sees no padding of ours
        if prior is not None:
            right = padded.shape[-1] - width
            padding = (0, right, 0, padded.shape[-2] - height)
            prior = F.pad(prior, padding, value=1 / prior.shape[1])
        log_probs = head.calibrate(padded, prior=prior)
        features = head.generator.encode(padded, log_probs)
        # Not `sample_labels`, whose tiles a trace would fix to one size.
        labels = head.generator.decode(features, noise).argmax(dim=2)
        return (labels[..., :height, :width], log_probs[..., :height, :width])


def log_ndtr(x: Tensor) -> Tensor:
    """Logarithm of the normal distribution function, of basic operations.

    Agrees with ``torch.special.log_ndtr``, which has no ONNX operator, to a
    relative error of about 1e-5.
    """
    z = x.abs() / math.sqrt(2)
    t = 1 / (1 + z / 2)
    series = _ERFC[-1] * t
    for coefficient in _ERFC[-2:0:-1]:
        series = (series + coefficient) * t
    series = series + _ERFC[0]
    tail = t.log() - z * z + series - math.log(2)  # log of ndtr(-|x|)
    q = tail.exp()
    # log(1 - q) by its series where 1 - q would round.
    small = -q * (1 + q * (0.5 + q / 3))
    upper = torch.where(q < 1e-2, small, (1 - q.clamp(max=0.5)).log())
    return torch.where(x < 0, tail, upper)


@contextmanager
def traceable(model: nn.Module) -> Iterator[None]:
    """Let a graph follow the size of images, and know `log_ndtr`, meanwhile.

    MMSeg's upsampling, as of its U-Net, turns sizes into Python numbers, which
    a trace takes for constants.

    Args:
        model: Its layers are changed, and put back.
    """
    with ExitStack() as changes:
        special = patch.object(torch.special, 'log_ndtr', log_ndtr)
        changes.enter_context(special)
        for layer in model.modules():
            if isinstance(layer, Upsample) and not layer.size:
                free = partial(
                    F.interpolate,
                    scale_factor=layer.scale_factor,
                    mode=layer.mode,
                    align_corners=layer.align_corners,
                    recompute_scale_factor=False,
                )
                changes.enter_context(patch.object(layer, 'forward', free))
        yield


def export_onnx(
    model: CARSegmentor, path: Path, size: tuple[int, int], channels: int = 3
) -> OnnxSampler:
    """Write a model as an ONNX file.

    Args:
        model: The model, on the CPU.
        path: The file.
        size: Height and width of the example that is traced.
        channels: Channels of an image.

    Returns:
        The module that was traced, to compare with.
    """
    if model.test_cfg['mode'] == 'slide':
        raise UserError(
            "model.test_cfg.mode='slide': an ONNX graph sees whole images; "
            "set model.test_cfg.mode='whole'."
        )
    if model.joint_samples:
        raise UserError(
            'exact margins: ranks are those among all samples, whose number '
            'an ONNX graph would fix. Export the model or generator inside.'
        )
    if type(model).encode is not CARSegmentor.encode:
        raise UserError(
            f'{type(model).__name__} does more than its head: an ONNX graph '
            'would leave that out. Export a CARSegmentor.'
        )
    generator = model.decode_head.generator
    if not generator.exportable:
        raise UserError(
            f'{type(generator).__name__}: an ONNX graph would draw every '
            'image by the example that it is traced with; export '
            "generator=dict(type='GumbelSampler', ...) instead."
        )
    sampler = OnnxSampler(model)
    image = torch.rand(2, channels, *size) * 255
    noise = torch.randn(3, 2, *model.noise_shape(size))
    path.parent.mkdir(parents=True, exist_ok=True)
    with torch.no_grad(), traceable(model), warnings.catch_warnings():
        warnings.simplefilter('ignore')  # of branches that a trace fixes
        try:
            with redirect_stdout(io.StringIO()):  # torch prints failing graphs
                torch.onnx.export(
                    sampler,
                    (image, noise),
                    str(path),
                    input_names=list(INPUTS),
                    output_names=list(OUTPUTS),
                    dynamic_axes=_AXES,
                    opset_version=OPSET,
                    dynamo=False,
                )
        except torch.onnx.errors.OnnxExporterError as error:
            reason = str(error).partition('\n')[0]
            raise UserError(
                f'ONNX cannot express a layer of this model: {reason}. Leave '
                'that layer out, or replace it.'
            ) from error
    return sampler


def agreement(
    sampler: OnnxSampler, session: Any, image: Tensor, noise: Tensor
) -> float:
    """Share of pixels with the same label in PyTorch and in ONNX Runtime.

    Args:
        sampler: What was exported.
        session: An ``onnxruntime.InferenceSession`` of the file.
        image: (B, C, H, W), see `OnnxSampler`.
        noise: (S, B, d).
    """
    with torch.no_grad():
        expected, _ = sampler(image, noise)
    feeds = dict(image=image.numpy(), noise=noise.numpy())
    found = torch.from_numpy(session.run(['labels'], feeds)[0])
    return float((found == expected).float().mean())
