"""Fit correlation length and common part of fields to the annotations.

Reads the training annotations of a config, at the size the model sees, and
prints what to set in the config of the training-free sampler.
"""

import argparse
from collections.abc import Iterator

from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmseg.registry import DATASETS
from torch import Tensor

from mmcar import cli
from mmcar.evaluation import FieldFit, fit_field
from mmcar.utils.errors import UserError


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    cli.add_config_arguments(parser)
    parser.add_argument(
        '--max-distance',
        type=int,
        help='largest distance in pixels that is looked at (default: half of '
        "the images' shorter side, at most 64)",
    )
    return parser.parse_args(argv)


def annotations(cfg: Config) -> Iterator[Tensor]:
    """All labels (A, H, W) of each training image, without augmentation."""
    dataset = (cfg.get('train_dataloader') or {}).get('dataset')
    if dataset is None or not cfg.get('test_dataloader'):
        raise UserError(
            'the config needs train_dataloader, whose annotations are read, '
            'and test_dataloader, whose pipeline reads them'
        )
    pipeline = cfg.test_dataloader.dataset.pipeline
    images = DATASETS.build(dict(dataset, pipeline=pipeline, test_mode=True))
    for index in range(len(images)):
        sample = images[index]['data_samples']
        if 'gt_sem_segs' not in sample:
            raise UserError(
                f'{sample.get("img_path")}: no annotations of several people; '
                'read them by MultiAnnotatorDataset and LoadMultiAnnotations'
            )
        yield sample.gt_sem_segs.data


def config_line(fit: FieldFit) -> str:
    """What to write into a config."""
    arguments = ''
    if fit.correlation_length is not None:
        arguments = f', correlation_length={fit.correlation_length:.1f}'
    if fit.common >= 0.005:
        arguments += f', common={min(fit.common, 0.99):.2f}'
    return f"generator=dict(type='GumbelSampler'{arguments})"


def main(argv: list[str] | None = None) -> None:
    """Fit and print."""
    args = parse_args(argv)
    cfg = cli.load_config(args)
    init_default_scope(cfg.get('default_scope', 'mmseg'))
    images = list(annotations(cfg))
    side = min(min(labels.shape[1:]) for labels in images)
    model = cfg.model.get('decode_head') or cfg.model
    fit = fit_field(
        images, model.num_classes, args.max_distance or min(side // 2, 64)
    )
    print('distance in pixels: correlation')
    for distance, value in zip(fit.distances, fit.correlations, strict=True):
        if distance == distance.round():
            print(f'{distance:6.0f}: {value:6.3f}')
    print(config_line(fit))


if __name__ == '__main__':
    cli.run_tool(main)
