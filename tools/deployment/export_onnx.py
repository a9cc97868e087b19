"""Export a model that samples to ONNX, and check it with ONNX Runtime.

The graph takes pixels and noise, and gives label maps and log-probabilities;
see docs/do/deployment.md.
"""

import argparse
import importlib.util
from pathlib import Path

import torch

from mmcar import cli
from mmcar.inference.model_loading import load_model
from mmcar.inference.onnx_export import OnnxSampler, agreement, export_onnx
from mmcar.models import CARSegmentor
from mmcar.utils.errors import UserError

REQUIRED = 0.999
"""Share of pixels that must have the same label."""


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    cli.add_config_arguments(parser)
    cli.add_checkpoint_argument(parser)
    parser.add_argument(
        '--out', type=Path, default=Path('model.onnx'), metavar='FILE'
    )
    parser.add_argument(
        '--size',
        type=int,
        nargs=2,
        default=(256, 256),
        metavar=('HEIGHT', 'WIDTH'),
        help='of the example that is traced (default: 256 256)',
    )
    parser.add_argument(
        '--channels', type=int, default=3, help='of an image (default: 3)'
    )
    return parser.parse_args()


def build(args: argparse.Namespace) -> CARSegmentor:
    """The config's model, on the CPU, with its weights."""
    model = load_model(cli.load_config(args), args.checkpoint)
    if not isinstance(model, CARSegmentor):
        raise UserError(
            f'{args.config}: {type(model).__name__} cannot be exported; '
            'expected a CARSegmentor or a stock MMSeg model.'
        )
    return model


def other_size(
    sampler: OnnxSampler, height: int, width: int
) -> tuple[int, int]:
    """A size to compare at; square only where that is all there is.

    Nets that average views turn square images by quarters, too, and a graph
    keeps the views of its example.
    """
    averages = any(
        getattr(net, 'symmetric', False) for net in sampler.modules()
    )
    if averages and height == width:
        print('Only square images: the views that F averages depend on it.')
        return height + 32, width + 32
    return height + 32, width + 64


def check(sampler: OnnxSampler, path: Path, args: argparse.Namespace) -> None:
    """Compare labels at the traced size and batch, and at others."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path))
    height, width = args.size
    torch.manual_seed(0)
    for name, images, samples, size in (
        ('traced size', 2, 3, (height, width)),
        ('other batch', 1, 5, (height, width)),
        ('other size', 1, 2, other_size(sampler, height, width)),
    ):
        image = torch.rand(images, args.channels, *size) * 255
        noise = torch.randn(samples, images, *sampler.model.noise_shape(size))
        try:
            share = agreement(sampler, session, image, noise)
        except Exception as error:  # onnxruntime's have no common base
            if name == 'other size':
                print(
                    f'Only images of {height} x {width} pixels: a layer of '
                    f'this model has fixed its size ({type(error).__name__}).'
                )
                continue
            raise
        print(f'{name}: {share:.4%} of the labels are the same')
        if share < REQUIRED:
            path.unlink()
            raise UserError(
                f'{name}: the graph gives {share:.2%} of the labels that '
                f'PyTorch gives, expected {REQUIRED:.1%}; {path} was removed.'
            )


def main() -> None:
    """Export."""
    args = parse_args()
    for package in ('onnx', 'onnxruntime'):
        if importlib.util.find_spec(package) is None:
            raise UserError(
                f'{package} is not installed: pip install -r '
                'requirements/deploy.txt'
            )
    model = build(args)
    size = (args.size[0], args.size[1])
    sampler = export_onnx(model, args.out, size, args.channels)
    check(sampler, args.out, args)
    noise = 'x'.join(map(str, model.noise_shape(size)))
    kind = type(model.decode_head.generator).__name__
    print(f'{args.out}: {kind}, {noise} standard normal numbers per sample')


if __name__ == '__main__':
    cli.run_tool(main)
