"""Calibrate a trained model's probabilities, without training it again.

Fits a scaling on one half of the validation images, reports on the other
half, and writes a checkpoint that carries the scaling. A stock MMSeg model
becomes the black box of a training-free sampler on the way; its new config is
written beside the checkpoint.

With --promise it fits on the same half what can be promised of new images,
reports what held on the other, and writes a file beside the checkpoint that
infer.py and report.py find. Research software, not for clinical decisions.
"""

import argparse
import copy
import io
from pathlib import Path

import torch
from mmengine.config import Config, ConfigDict
from mmengine.device import get_device
from mmengine.runner import Runner
from mmseg.registry import DATASETS

from mmcar import cli
from mmcar.apis.training import build_runner
from mmcar.engine.black_box_cache import prepare_caches
from mmcar.evaluation.functional.promises import images_needed
from mmcar.evaluation.metrics.base import class_ids
from mmcar.inference.calibration import calibrate, halves_of
from mmcar.inference.model_loading import (
    load_model,
    samples_itself,
    wrap_stock_config,
)
from mmcar.inference.promises import KINDS, file_beside, fit_promises
from mmcar.inference.scaling_fit import Fit
from mmcar.models import CARSegmentor
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_file, write_json
from mmcar.utils.scaling import METHODS


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    cli.add_config_arguments(parser)
    cli.add_checkpoint_argument(parser)
    parser.add_argument(
        '--method',
        choices=METHODS,
        help='from few parameters to many (default: temperature)',
    )
    parser.add_argument(
        '--promise',
        nargs='+',
        choices=KINDS,
        metavar='KIND',
        help=f'what to promise of new images, of {", ".join(KINDS)}; see '
        'docs/do/promises.md',
    )
    parser.add_argument(
        '--alpha',
        type=float,
        default=0.1,
        help='how often a promise may fail (default: 0.1)',
    )
    parser.add_argument(
        '--iou',
        type=float,
        default=0.5,
        metavar='TAU',
        help="IoU from which a hypothesis is an annotator's map (default: "
        '0.5)',
    )
    parser.add_argument(
        '--class',
        dest='class_names',
        nargs='+',
        metavar='NAME',
        help='classes to promise something about (default: the second of two)',
    )
    parser.add_argument(
        '--out',
        type=Path,
        metavar='FILE',
        help='file to write (default: WORK_DIR/<name>_<method>.pth; of '
        'promises <checkpoint>.promises.json)',
    )
    parser.add_argument(
        '--pixels',
        type=int,
        default=200_000,
        metavar='N',
        help='pixels to fit on, of all images together (default: 200000)',
    )
    parser.add_argument(
        '--ridge',
        type=float,
        default=1e-6,
        help='pull towards no scaling (default: 1e-6); more where few images '
        'are to fix many parameters',
    )
    return parser.parse_args()


def check_arguments(args: argparse.Namespace) -> None:
    """Refuse values that cannot work."""
    if args.pixels < 1:
        raise UserError(f'--pixels={args.pixels}: expected at least 1.')
    if not 0 <= args.ridge < float('inf'):
        raise UserError(f'--ridge={args.ridge}: expected a number >= 0.')
    if args.launcher != 'none':
        raise UserError('--launcher: calibration runs in one process.')
    if not args.promise:
        args.method = args.method or 'temperature'
        return
    if args.method:
        raise UserError('--promise and --method: one after the other.')
    images_needed(args.alpha)
    if not 0 < args.iou <= 1:
        raise UserError(f'--iou={args.iou}: expected above 0, at most 1.')


def build(cfg: Config, args: argparse.Namespace) -> Runner:
    """The runner, with nothing but the model."""
    cfg = copy.deepcopy(cfg)
    for key in ('train', 'val'):
        cfg[f'{key}_dataloader'] = cfg[f'{key}_cfg'] = None
    cfg.optim_wrapper = cfg.param_scheduler = cfg.val_evaluator = None
    cfg.test_dataloader = cfg.test_evaluator = cfg.test_cfg = None
    cfg.load_from, cfg.resume = None, False
    # The runner writes its config: not over that of the training.
    cfg.work_dir = str(Path(cfg.work_dir) / 'calibration')
    with cli.naming_config(args.config):
        return build_runner(cfg)


def validation_loader(cfg: Config) -> ConfigDict:
    """The validation's loader; what its black box has to predict is made."""
    data = copy.deepcopy(cfg)
    data.train_dataloader = data.test_dataloader = None  # not to be cached
    prepare_caches(data)
    return data.val_dataloader


def write_checkpoint(
    path: Path, model: CARSegmentor, metainfo: dict, scores: dict
) -> None:
    """Write the model with its scaling, in MMEngine's form."""
    buffer = io.BytesIO()
    plain = {
        key: metainfo[key] for key in ('classes', 'palette') if key in metainfo
    }
    meta = dict(dataset_meta=plain, calibration=scores)
    torch.save(dict(meta=meta, state_dict=model.state_dict()), buffer)
    write_file(path, buffer.getvalue())


def print_report(fit: Fit, scores: dict, num_images: int) -> None:
    """Say what was found, on images that the fit has not seen."""
    rows = [
        [name, f'{pair["before"]:.4g}', f'{pair["after"]:.4g}']
        for name, pair in scores.items()
        if name != 'changed'
    ]
    print(cli.format_table([['score', 'before', 'after'], *rows]))
    print(f'On {num_images} images that the fit has not seen.')
    print(f'Changed decisions: {scores["changed"]["after"]:.3%} of the pixels')
    if fit.method == 'temperature':
        print(f'Temperature: {1 / fit.weight.item():.4g}')
    if fit.unseen:
        print(f'Classes without a label to fit on, left alone: {fit.unseen}')
    if fit.refused:
        print(f'Nothing is scaled: {fit.refused}.')
    elif scores['NLL']['after'] > scores['NLL']['before']:
        print(
            'On these images the NLL is higher than before: the scaling does '
            'not carry over. Try fewer parameters or a larger --ridge.'
        )


def promise(cfg: Config, args: argparse.Namespace) -> None:
    """Fit promises and write them."""
    model = load_model(cfg, args.checkpoint, get_device())
    loader = validation_loader(cfg)
    dataset = DATASETS.build(loader.dataset)
    classes = list(dataset.metainfo['classes'])
    if not args.class_names and len(classes) > 2:
        raise UserError(
            f'--class: name one or several of {", ".join(classes)}.'
        )
    ids = class_ids(args.class_names, classes, len(classes)) or (1,)
    promises = fit_promises(
        model,
        cfg.model,
        dataset,
        args.promise,
        {classes[k]: k for k in ids},
        args.alpha,
        args.iou,
        loader.get('num_workers', 0),
    )
    out = args.out or file_beside(
        args.checkpoint or Path(cfg.work_dir) / Path(args.config).stem
    )
    promises.save(out)
    rows = [['promise', 'promised', 'held', 'standard error']]
    for name, entry in promises.classes.items():
        rows += [
            [
                f'{name}: {kind.replace("_", " ")}',
                f'{1 - args.alpha:.1%}',
                f'{one["held"]:.1%}',
                f'{one["standard_error"]:.1%}',
            ]
            for kind, one in entry['held'].items()
        ]
        if 'best_iou' in entry['levels']:
            print(
                f'{name}: no number of hypotheses reaches IoU {args.iou} in '
                f'{1 - args.alpha:.0%}; promised is '
                f'{max(0, 1 - entry["levels"]["best_iou"]):.2f} by all.'
            )
    print(cli.format_table(rows))
    print(
        f'Fitted on {len(promises.fitted_on)} {promises.unit}s, held on the '
        f'others. {out}: {promises.note}'
    )


def main() -> None:
    """Calibrate."""
    args = parse_args()
    check_arguments(args)
    cfg = cli.load_config(args)
    if not cfg.get('val_dataloader'):
        raise UserError(
            f'{args.config} has no val_dataloader: calibration needs '
            'validation images.'
        )
    if args.promise:
        promise(cfg, args)
        return
    stock = not samples_itself(cfg)
    if stock and not args.checkpoint:
        raise UserError('This model has weights: name a checkpoint.')
    if stock:
        cfg = wrap_stock_config(cfg, args.checkpoint)
    runner = build(cfg, args)
    model = runner.model
    if not isinstance(model, CARSegmentor):
        raise UserError(
            f'{args.config}: {type(model).__name__} has no calibration net '
            'to scale; expected a CARSegmentor or a stock MMSeg model.'
        )
    if not stock:
        cli.load_checkpoint(runner, args.checkpoint)
    loader = runner.build_dataloader(validation_loader(cfg))
    fit, scores = calibrate(
        model,
        loader.dataset,
        args.method,
        num_pixels=args.pixels,
        ridge=args.ridge,
        num_workers=loader.num_workers,
    )
    name = Path(args.checkpoint or args.config).stem
    out = args.out or Path(cfg.work_dir) / f'{name}_{args.method}.pth'
    metainfo = loader.dataset.metainfo
    write_checkpoint(out, model, metainfo, scores)
    report = dict(
        config=args.config,
        checkpoint=args.checkpoint,
        method=args.method,
        refused=fit.refused,
        scores=scores,
    )
    write_json(out.with_suffix('.json'), report)
    _, reported = halves_of(loader.dataset)
    print_report(fit, scores, len(reported))
    config = args.config
    if stock:
        config = str(out.with_suffix('.py'))
        write_file(config, cfg.dump().encode())
    print(f'Use it: python tools/test.py {config} {out}')


if __name__ == '__main__':
    cli.run_tool(main)
