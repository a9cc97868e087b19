"""Print what samplers that know the labels score on a data set.

A model's GED and HM-IoU depend on the number of samples and on how much the
annotators disagree; these rows say what is possible and what is trivial.
"""

import argparse
from collections.abc import Iterator

from mmengine.config import ConfigDict, DictAction
from mmengine.registry import init_default_scope
from mmseg.registry import DATASETS

from mmcar.cli import add_console_arguments, run_tool
from mmcar.compat.configs import read_config
from mmcar.evaluation import bounds
from mmcar.evaluation.metrics.base import class_ids, labels_of
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_json
from mmcar.utils.progress import track


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('config', help='config with a test_dataloader')
    parser.add_argument(
        '--num-samples',
        type=int,
        nargs='+',
        default=[16],
        help='sample counts, e.g. 16 50 100',
    )
    parser.add_argument(
        '--max-images', type=int, help='use only the first images'
    )
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--json', help='write the scores to this file')
    parser.add_argument(
        '--cfg-options', nargs='+', action=DictAction, help='key=value ...'
    )
    add_console_arguments(parser)
    return parser.parse_args(argv)


def conventions(evaluator: ConfigDict | list | None) -> dict:
    """What the config's own GED or HM-IoU metric averages, and how."""
    configs = evaluator if isinstance(evaluator, list) else [evaluator or {}]
    for config in configs:
        if config.get('type') in ('GEDMetric', 'HMIoUMetric'):
            keys = ('classes', 'absent', 'ignore_index')
            return {key: config[key] for key in keys if key in config}
    return {}


def print_table(scores: dict[str, dict[str, float]]) -> None:
    """Print one row per sampler, one column per score."""
    columns = [
        key
        for key in next(iter(scores.values()))
        if not key.endswith('_left_out')
    ]
    print(f'{"":30}' + ''.join(f'{key:>15}' for key in columns))
    for name, row in scores.items():
        print(f'{name:30}' + ''.join(f'{row[key]:15.4f}' for key in columns))
    for name, row in scores.items():
        for key, value in row.items():
            if key.endswith('_left_out') and value:
                things = 'labels' if 'labels' in key else 'images'
                print(f'{name}, {key}: {value} {things}')


def main(argv: list[str] | None = None) -> None:
    """Build the data set, score the samplers, print and save."""
    args = parse_args(argv)
    cfg = read_config(args.config, args.cfg_options)
    init_default_scope(cfg.get('default_scope', 'mmseg'))
    if cfg.get('test_dataloader') is None:
        raise UserError(f'{args.config} has no test_dataloader.')
    dataset = DATASETS.build(cfg.test_dataloader.dataset)
    number = min(len(dataset), args.max_images or len(dataset))

    def labels() -> Iterator:
        for i in track(range(number), 'images'):
            yield labels_of(dataset[i]['data_samples'].to_dict())

    names = dataset.metainfo['classes']
    how = conventions(cfg.get('test_evaluator'))
    how['classes'] = class_ids(how.get('classes'), names, len(names))
    scores = bounds(
        labels(),
        num_classes=len(names),
        num_samples=args.num_samples,
        flips=dataset.metainfo.get('class_flips'),
        seed=args.seed,
        **how,
    )
    print_table(scores)
    if args.json:
        write_json(args.json, {'images': number, 'scores': scores})


if __name__ == '__main__':
    run_tool(main)
