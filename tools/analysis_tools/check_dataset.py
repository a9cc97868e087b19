"""Find every broken file of the data sets in a config, in one run.

Example::

    python tools/analysis_tools/check_dataset.py \
        configs/_base_/datasets/lidc_shapes.py

Reads all images and label maps of train, val and test; where these are sound
and the config has a black box, looks for files of its cache that are cut short
or older than their image. Prints a list by file and ends with exit code 1 if
anything is wrong.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator

from mmengine.config import Config, ConfigDict, DictAction
from mmengine.registry import init_default_scope
from mmseg.registry import DATASETS

from mmcar.cli import add_console_arguments, run_tool
from mmcar.compat.configs import read_config
from mmcar.datasets.checking import (
    check_samples,
    check_splits,
    find_odd_values,
    list_records,
    summarise,
)
from mmcar.datasets.image_files import clipped_by
from mmcar.datasets.listing import Problem
from mmcar.datasets.transforms.black_box import MISSING
from mmcar.engine.black_box_cache import plan_caches
from mmcar.utils.errors import UserError
from mmcar.utils.progress import track

STOCK_LOADER = 'LoadImageFromFile'


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument('config')
    parser.add_argument(
        '--splits', nargs='+', default=['train', 'val', 'test']
    )
    parser.add_argument('--cfg-options', nargs='+', action=DictAction)
    add_console_arguments(parser)
    return parser.parse_args(argv)


def innermost(config: ConfigDict) -> Iterator[ConfigDict]:
    """The data sets inside wrappers like RepeatDataset, ConcatDataset."""
    inner = config.get('datasets') or [config.get('dataset')]
    for part in inner:
        yield from [config] if part is None else innermost(part)


def check_split(
    name: str, config: ConfigDict
) -> tuple[list[dict], list[Problem]]:
    """Check one split; print a line about it."""
    records, problems, values, labels, empty = [], [], [], 0, 0
    for part in innermost(config):
        dataset = DATASETS.build(dict(part, lazy_init=True, pipeline=[]))
        loaders = [step['type'] for step in part.get('pipeline') or ()]
        found, broken = list_records(dataset)
        problems += broken
        reports = check_samples(found, dataset.ignore_index)
        for report in track(reports, name, total=len(found)):
            problems += report.problems
            labels += report.num_labels
            empty += report.num_empty
            values += [report.values] if report.values else []
            if report.values and STOCK_LOADER in loaders:
                fault = clipped_by(STOCK_LOADER, report.values.dtype)
                problems += [(report.values.path, fault)] if fault else []
        records += found
    problems += find_odd_values(values)
    print(
        f'{name}: {len(records)} images, {labels} label maps, {empty} of them '
        f'empty; {len(problems)} problems'
    )
    print(f'    {summarise(values)}')
    return records, problems


def check_caches(config: Config) -> list[Problem]:
    """Check what is there of a black box's cache; training makes the rest."""
    if 'model' not in config:
        return []
    try:
        plans = plan_caches(config)
    except UserError as error:
        print(f'cache of the black box: not looked at ({error})')
        return []
    return [
        (str(file), f'{fault}; tools/cache_black_box.py makes it anew')
        for plan in plans
        for file, fault in plan.faults().items()
        if fault != MISSING
    ]


def main(argv: list[str] | None = None) -> int:
    """Check, and return the exit code."""
    args = parse_args(argv)
    config = read_config(args.config, args.cfg_options)
    init_default_scope('mmseg')
    splits, by_file = {}, defaultdict(set)
    for name in args.splits:
        loader = config.get(f'{name}_dataloader')
        if loader is None:
            print(f'{name}: not in the config')
            continue
        splits[name], problems = check_split(name, loader.dataset)
        for file, text in problems:
            by_file[file].add(text)
    for file, text in check_splits(splits):
        by_file[file].add(text)
    if not by_file:  # images that cannot be listed have no predictions
        for file, text in check_caches(config):
            by_file[file].add(text)
    for file in sorted(by_file):
        print('\n    '.join([file, *sorted(by_file[file])]))
    print(f'{len(by_file)} files with problems')
    return int(bool(by_file) or not splits)


if __name__ == '__main__':
    run_tool(lambda: sys.exit(main()))
