"""Fit correlation length and common part of fields to the annotations.

Reads the training annotations of a config, at the size the model sees, and
prints what to set in the config of the training-free sampler.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence

import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmseg.registry import DATASETS
from torch import Tensor
from torch.nn.functional import one_hot

from mmcar import cli, ged, sample_labels
from mmcar.evaluation import FieldFit, fit_field
from mmcar.utils.errors import UserError

TRIED = 24  # images


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


def arguments_of(fit: FieldFit) -> str:
    """What to write behind the other arguments of a sampler."""
    arguments = ''
    if fit.correlation_length is not None:
        arguments = f', correlation_length={fit.correlation_length:.1f}'
    if fit.common >= 0.005:
        arguments += f', common={min(fit.common, 0.99):.2f}'
    return arguments


def fit(images: Sequence[Tensor], classes: int, reach: int | None) -> FieldFit:
    """Fit to annotations, as far as half of the shorter side of images."""
    side = min(min(labels.shape[1:]) for labels in images)
    return fit_field(images, classes, reach or max(min(side // 2, 64), 4))


def fields_that_pay(images: Iterable[Tensor], classes: int) -> tuple[str, str]:
    """Arguments of fields if samples of the annotators' mean gain by them.

    Args:
        images: Annotations (A, H, W) of each image.
        classes: Number of classes.

    Returns:
        The arguments, '' for none, and why.
    """
    several = [labels for labels in images if len(labels) > 2]
    several = several[:: len(several) // TRIED + 1]
    if not several:
        return '', 'No three annotators of an image: one number per class.'
    try:
        found = fit(several, classes, None)
    except UserError:
        return '', 'Annotators hardly differ: one number per class.'
    if found.correlation_length is None:
        return '', 'All of an image varies together: one number per class.'
    smooth = dict(correlation_length=found.correlation_length)
    smooth['common'] = min(found.common, 0.99)
    sums = []
    for settings in (smooth, {}):
        geds = []
        for number, labels in enumerate(several):
            known = labels.where(labels < classes, 0).long()
            mean = one_hot(known, classes).double().mean(0).movedim(-1, 0)
            samples = sample_labels(
                mean[None], 16, kind='probs', keys=[str(number)], **settings
            )
            geds.append(ged(samples[0], labels, num_classes=classes))
        sums.append(float(torch.stack(geds).nanmean()))
    why = (
        "GED of samples of the annotators' mean is {:.3f} with fields, {:.3f} "
    )
    why = why.format(*sums) + 'without.'
    return arguments_of(found) if sums[0] < sums[1] else '', why


def main(argv: list[str] | None = None) -> None:
    """Fit and print."""
    args = parse_args(argv)
    cfg = cli.load_config(args)
    init_default_scope(cfg.get('default_scope', 'mmseg'))
    images = list(annotations(cfg))
    model = cfg.model.get('decode_head') or cfg.model
    found = fit(images, model.num_classes, args.max_distance)
    print('distance in pixels: correlation')
    for distance, value in zip(
        found.distances, found.correlations, strict=True
    ):
        if distance == distance.round():
            print(f'{distance:6.0f}: {value:6.3f}')
    print(f"generator=dict(type='GumbelSampler'{arguments_of(found)})")


if __name__ == '__main__':
    cli.run_tool(main)
