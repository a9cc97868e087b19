"""Test a model: a table of scores, and predictions as files or plots."""

import argparse
import json
from pathlib import Path

from mmengine.config import Config
from mmengine.dist import is_main_process
from mmengine.runner import Runner

from mmcar import cli
from mmcar.apis.training import build_runner, test
from mmcar.engine import unwrap_model
from mmcar.evaluation import metric_configs
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_json

TRAINING_KEYS = (
    'train_dataloader',
    'train_cfg',
    'optim_wrapper',
    'param_scheduler',
    'val_dataloader',
    'val_cfg',
    'val_evaluator',
)
NOT_INDEPENDENT = (
    'Samples of an image are not independent (Sobol noise or support points): '
    'scores do not compare with those of independent samples.'
)
BLACK_BOX = ('black-box-miou', 'blackboxioumetric')


def parse_args() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    cli.add_config_arguments(parser)
    cli.add_check_arguments(parser)
    cli.add_checkpoint_argument(parser)
    parser.add_argument(
        '--eval',
        nargs='+',
        metavar='NAME',
        help="scores to compute in place of the config's test_evaluator, "
        'e.g. GED HM-IoU ECE mIoU, or the name of a registered metric; a '
        'wrong name lists all',
    )
    parser.add_argument(
        '--num-samples', type=int, metavar='N', help='samples per image'
    )
    parser.add_argument(
        '--out', metavar='DIR', help='write predicted label maps as PNG files'
    )
    parser.add_argument(
        '--show-dir', metavar='DIR', help='make a plot of every image'
    )
    parser.add_argument(
        '--show', action='store_true', help='show that plot in a window'
    )
    parser.add_argument(
        '--wait-time',
        type=float,
        default=2,
        metavar='SECONDS',
        help='of a window (default: 2)',
    )
    parser.add_argument(
        '--figures',
        metavar='DIR',
        help='plot samples of six images, a reliability diagram and the '
        'training curves',
    )
    parser.add_argument(
        '--live',
        action='store_true',
        help="read images by the config's test_pipeline, as new ones are: "
        'the black box predicts them as they lie on disk, and samples have '
        'their size',
    )
    parser.add_argument(
        '--tta',
        action='store_true',
        help="test-time augmentation by the config's tta_model",
    )
    return parser.parse_args()


def set_metrics(cfg: Config, names: list[str], count: int | None) -> None:
    """Evaluate the named scores; settings of the config's metrics stay.

    Args:
        cfg: Its ``test_evaluator`` is replaced.
        names: Scores by their short names, or registered metrics.
        count: Samples per image; None asks the config.
    """
    metrics = cfg.get('test_evaluator') or []
    metrics = [metrics] if isinstance(metrics, dict) else metrics
    drawn = (cfg.model.get('test_cfg') or {}).get('num_samples', 16)
    if count is not None:
        metrics = [
            {
                key: value
                for key, value in metric.items()
                if key != 'num_samples'
            }
            for metric in metrics
        ]
    floods = flood_measure(cfg)
    cfg.test_evaluator = metric_configs(
        names, count or drawn, [*floods, *metrics]
    )


def flood_measure(cfg: Config) -> list[dict]:
    """What flood-rate compares with, if the config has a training set.

    That of a model without training is named by ``train_dataset``.
    """
    loader = cfg.get('train_dataloader') or {}
    dataset = loader.get('dataset') or cfg.get('train_dataset')
    if dataset is None:
        return []
    # Labels as the test images have them, without augmentation.
    pipeline = cfg.test_dataloader.dataset.pipeline
    dataset = dict(dataset, pipeline=pipeline, test_mode=True)
    return [dict(type='FloodMetric', train_dataset=dataset)]


def only_black_box(scores: list[str] | None) -> bool:
    """Whether nothing but the black box is scored."""
    return bool(scores) and all(s.lower() in BLACK_BOX for s in scores)


def apply_arguments(cfg: Config, args: argparse.Namespace) -> None:
    """Write what the arguments ask for into the config."""
    if 'test_dataloader' not in cfg:
        raise UserError(f'{args.config} has no test_dataloader.')
    if args.num_samples is None and only_black_box(args.eval):
        args.num_samples = 1  # nobody looks at samples
    if args.num_samples is not None:
        if args.num_samples < 1:
            raise UserError(
                f'--num-samples must be at least 1, got {args.num_samples}.'
            )
        cfg.merge_from_dict({'model.test_cfg.num_samples': args.num_samples})
    if args.eval:
        set_metrics(cfg, args.eval, args.num_samples)
    hooks = list(cfg.get('custom_hooks') or [])
    if args.out:
        hooks.append(dict(type='SaveSamplesHook', out_dir=args.out))
    if args.show_dir:
        hooks.append(dict(type='DrawSamplesHook', out_dir=args.show_dir))
    if args.show:
        window = dict(show=True, wait_time=args.wait_time, num_images=None)
        hooks.append(dict(type='ShowSamplesHook', **window))
    if args.figures:
        hooks.append(dict(type='FiguresHook', out_dir=args.figures))
    cfg.custom_hooks = hooks
    if args.live:
        if 'test_pipeline' not in cfg:
            raise UserError(f'--live: {args.config} has no test_pipeline.')
        cfg.test_dataloader.dataset.pipeline = cfg.test_pipeline
    if args.tta:
        if 'tta_model' not in cfg or 'tta_pipeline' not in cfg:
            raise UserError(
                f'--tta: {args.config} has no tta_model and tta_pipeline.'
            )
        cfg.test_dataloader.dataset.pipeline = cfg.tta_pipeline
        cfg.tta_model.module = cfg.model
        cfg.model = cfg.tta_model
    # The tool loads the weights itself; only the test is needed, and a config
    # for it need not say how to train.
    cfg.load_from, cfg.resume = None, False
    for key in TRAINING_KEYS:
        cfg[key] = None


def load(
    runner: Runner, checkpoint: str | None, scores: list[str] | None
) -> None:
    """Load the weights; without a checkpoint none may be needed.

    Args:
        runner: Its model gets the weights.
        checkpoint: Path or URL, or None.
        scores: What will be evaluated; the black box has its own weights.
    """
    if checkpoint is not None or not only_black_box(scores):
        cli.load_checkpoint(runner, checkpoint)


def keep_other_scores(path: Path, report: dict) -> None:
    """Give the scores of another test a name of their own."""
    if not path.is_file() or json.loads(path.read_text()) == report:
        return
    number = 1
    while (kept := path.with_stem(f'{path.stem}_{number}')).exists():
        number += 1
    path.rename(kept)
    print(f'Scores of the test before: {kept}')


def main() -> None:
    """Test."""
    args = parse_args()
    cfg = cli.load_config(args)
    apply_arguments(cfg, args)
    with cli.naming_config(args.config):
        runner = build_runner(cfg, args.check, args.strict)
    load(runner, args.checkpoint, args.eval)
    model = unwrap_model(runner.model)
    with cli.naming_config(args.config):
        found = test(runner)
    scores = {name: float(value) for name, value in found.items()}
    if not is_main_process():
        return
    path = Path(cfg.work_dir) / 'test_scores.json'
    independent = getattr(model, 'draws_independently', True)
    report = dict(
        config=args.config,
        checkpoint=args.checkpoint,
        num_samples=cfg.model.get('test_cfg', {}).get('num_samples'),
        independent_samples=independent,
        scores=scores,
    )
    keep_other_scores(path, report)
    write_json(path, report)
    rows = [
        [name, f'{value:.4g}']
        for name, value in scores.items()
        if value or not name.endswith('_left_out')
    ]
    print(cli.format_table([['score', 'value'], *rows]))
    if not independent:
        print(NOT_INDEPENDENT)
    print(f'Scores: {path}')


if __name__ == '__main__':
    cli.run_tool(main)
