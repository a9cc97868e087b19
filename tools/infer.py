"""Sample label maps of images: decision, samples, hypotheses, uncertainty.

CONFIG and CHECKPOINT are those of a model of mmcar or of any model of
MMSegmentation, which is sampled from without training. In place of CONFIG
stands 'package.module:factory' for a PyTorch model of any kind, or model.onnx;
see docs/do/any_model.md.
"""

import argparse
import errno
import sys
from pathlib import Path

from mmcar import cli
from mmcar.apis import StochasticInferencer
from mmcar.inference.image_list import ImageInput, list_images
from mmcar.inference.inferencer import Unreadable
from mmcar.inference.results import InferenceResult, claim_out_dir
from mmcar.inference.wrapped_sampler import WrappedSampler
from mmcar.report.image_figures import NOTE
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_json
from mmcar.utils.progress import ProgressBar
from mmcar.wrapped_model import OUTPUTS

CHECKPOINT_SUFFIXES = ('.pth', '.pt')


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        usage='%(prog)s CONFIG [CHECKPOINT] IMAGE... --out-dir DIR [options]',
    )
    parser.add_argument(
        'config',
        help="config file, 'mmcar::...' or 'mmseg::...'; or "
        "'package.module:factory' or an ONNX file",
    )
    parser.add_argument(
        'inputs',
        nargs='+',
        metavar='[CHECKPOINT] IMAGE...',
        help='checkpoint (a first name that ends in .pth or .pt), then image '
        'files, folders or quoted patterns',
    )
    parser.add_argument(
        '--checkpoint', metavar='FILE', help='checkpoint of any other name'
    )
    parser.add_argument(
        '--out-dir', required=True, metavar='DIR', help='folder of all files'
    )
    cli.add_prediction_arguments(parser)
    parser.add_argument(
        '--batch-size', type=int, default=1, help='images at once (default: 1)'
    )
    parser.add_argument(
        '--window',
        nargs=2,
        type=int,
        metavar=('H', 'W'),
        help='look at large images in windows; each sample is still drawn '
        'once for the whole image',
    )
    parser.add_argument(
        '--stride',
        nargs=2,
        type=int,
        metavar=('H', 'W'),
        help='distance of windows (default: two thirds of them)',
    )
    parser.add_argument(
        '--threshold',
        type=float,
        metavar='D',
        help='distance 1 - IoU from which hypotheses differ (default: by the '
        'rule in docs/do/inference.md)',
    )
    parser.add_argument(
        '--promises',
        metavar='FILE',
        help='what calibrate.py --promise has written (default: the file '
        'beside the checkpoint, if there is one)',
    )
    parser.add_argument(
        '--npz', action='store_true', help='also write all arrays'
    )
    parser.add_argument(
        '--no-figures',
        action='store_true',
        help='only label maps and overlays, which is faster',
    )
    add_wrap_arguments(parser)
    cli.add_console_arguments(parser)
    return parser.parse_args()


def add_wrap_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the settings of `mmcar.wrap`."""
    group = parser.add_argument_group('models that have no config')
    numbers = dict(nargs='+', type=float, metavar='X')
    group.add_argument('--mean', **numbers, help='of each channel')
    group.add_argument('--std', **numbers, help='likewise')
    group.add_argument('--bgr', action='store_true', default=None)
    group.add_argument(
        '--size', nargs=2, type=int, metavar=('H', 'W'), help='that it sees'
    )
    group.add_argument('--divisor', type=int, help='of padded sizes')
    group.add_argument('--output', choices=OUTPUTS, help='what it gives')
    group.add_argument('--key', help='where its scores are')
    group.add_argument('--classes', nargs='+', metavar='NAME')


def wrapped(args: argparse.Namespace) -> WrappedSampler | None:
    """The model that is named in place of a config, if one is."""
    keys = ('output', 'key', 'mean', 'std', 'bgr', 'size', 'divisor')
    keys += ('classes',)
    given = {k: v for k in keys if (v := getattr(args, k)) is not None}
    named = (
        ':' in args.config.replace('::', '')
        and not Path(args.config).is_file()
    )
    if not named and not args.config.lower().endswith('.onnx'):
        if given:
            raise UserError(
                f'{", ".join(f"--{key}" for key in given)}: of models without '
                f'a config; {args.config} has settings of its own'
            )
        return None
    for key in ('mean', 'std'):
        if len(given.get(key, ())) == 1:
            (given[key],) = given[key]
    if given.get('key', '').isdecimal():
        given['key'] = int(given['key'])
    sys.path.insert(0, '')  # factories may lie in the current folder
    window = dict(window=args.window, stride=args.stride)
    args.window = args.stride = None
    return WrappedSampler(args.config, **given, **window)


def split_inputs(
    inputs: list[str], checkpoint: str | None
) -> tuple[str | None, list[str]]:
    """Tell the checkpoint from the images.

    Args:
        inputs: What follows the config.
        checkpoint: What ``--checkpoint`` says.

    Returns:
        Checkpoint, if there is one, and the images.
    """
    named = [x for x in inputs if x.endswith(CHECKPOINT_SUFFIXES)]
    if len(named) + (checkpoint is not None) > 1:
        both = [*named, *([checkpoint] if checkpoint else [])]
        raise UserError(f'More than one checkpoint: {", ".join(both)}.')
    if named and inputs[0] != named[0]:
        raise UserError(
            f'{named[0]} is a checkpoint among images: put it right behind '
            'the config.'
        )
    images = inputs[len(named) :]
    if not images:
        raise UserError(
            f'No images behind {named[0]}: name files, folders or patterns.'
        )
    return checkpoint or (named[0] if named else None), images


def predict_all(
    inferencer: StochasticInferencer,
    images: list[ImageInput],
    args: argparse.Namespace,
    out: Path,
) -> tuple[list[dict], list[Unreadable]]:
    """Predict and save every image.

    Returns:
        Summaries of the results, in the order of the images, and the images
        that could not be read.
    """
    done, bad = {}, []
    with ProgressBar('images', len(images)) as bar:
        for result in inferencer.predict_each(
            images,
            args.num_samples,
            args.seed,
            args.batch_size,
            args.threshold,
        ):
            if isinstance(result, InferenceResult):
                try:
                    result.save(out, args.npz, not args.no_figures)
                    done[result.name] = result.summary()
                except OSError as error:
                    if error.errno != errno.ENAMETOOLONG:
                        raise  # it would meet the others, too
                    result = Unreadable(result.name, f'{error}')
            if isinstance(result, Unreadable):
                bad.append(result)
            bar.advance()
    return [done[i.name] for i in images if i.name in done], bad


def main() -> None:
    """Infer."""
    args = parse_args()
    checkpoint, given = split_inputs(args.inputs, args.checkpoint)
    images = list_images(given)
    out = claim_out_dir(args.out_dir, given)
    inferencer = StochasticInferencer(
        wrapped(args) or args.config,
        checkpoint,
        device=args.device,
        window=args.window,
        stride=args.stride,
        cfg_options=args.cfg_options,
        promises=args.promises,
    )
    done, bad = predict_all(inferencer, images, args, out)
    write_json(
        out / 'summary.json',
        dict(
            config=args.config,
            checkpoint=checkpoint,
            **(dict(note=NOTE) if inferencer.promises else {}),
            images=done,
            unreadable=[image._asdict() for image in bad],
        ),
    )
    print(f'{len(done)} of {len(images)} images: {out / "summary.json"}')
    for image in bad:
        print(f'infer.py: unreadable: {image.reason}', file=sys.stderr)
    if bad:
        sys.exit(1)


if __name__ == '__main__':
    cli.run_tool(main)
