"""What can be promised of nodules on real CT, and what held: LIDC.

Example::

    python projects/lidc/promises.py WEIGHTS.pth

Predicts every slice of val and test once and keeps the losses beside the
weights; then divides the patients at random, many times: promises are fitted
on one half and tried on the other. The table goes to the README.
"""

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from mmseg.registry import DATASETS
from torch.utils.data import Subset

from mmcar import cli
from mmcar.compat.configs import read_config
from mmcar.evaluation.functional import hypotheses, promises
from mmcar.evaluation.functional.promises import Steps
from mmcar.inference.calibration import split_halves, units_of
from mmcar.inference.model_loading import load_model
from mmcar.inference.promises import (
    held_of,
    predict_steps,
    weights_hash,
)

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))  # for a hook of another project

CONFIG = (
    ROOT
    / 'projects/lidc/configs/gumbel_unet16_1xb16-6k_lidc-slices-center64.py'
)
SIZES = (0, 50, 150, 500)  # pixels from which on a mark is of the next size
BATCH = 8
PIXELS = 128 * 128
# Rows of the README's table.
ROWS = dict(
    region='outer region of all annotators',
    region_if_marked='the same, for those who marked something',
    region_of_marks='outer region of those who marked something',
    inner_region='inner region',
    hypotheses='hypotheses, by either of the next two',
    samples='the first hypotheses at the IoU asked for',
    best_iou='where no number reaches it: all, at a smaller IoU',
    area='interval of the area',
)
Image = dict[str, Steps]


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('checkpoint', type=Path)
    parser.add_argument('--config', type=Path, default=CONFIG)
    parser.add_argument(
        '--data-root', type=Path, default=Path('data/lidc_slices')
    )
    parser.add_argument(
        '--losses',
        type=Path,
        metavar='FILE.npz',
        help='where losses are kept (default: beside the weights)',
    )
    parser.add_argument(
        '--every', type=int, default=1, help='take every n-th slice alone'
    )
    parser.add_argument('--alpha', type=float, default=0.1)
    parser.add_argument('--iou', type=float, default=0.5)
    parser.add_argument('--divisions', type=int, default=200)
    parser.add_argument('--seed', type=int, default=0, help='of divisions')
    cli.add_console_arguments(parser)
    return parser.parse_args()


def predict(args: argparse.Namespace) -> dict[str, np.ndarray]:
    """Losses of every slice, one array per kind for all of them."""
    cfg = read_config(args.config)
    model = load_model(cfg, args.checkpoint)
    known = dict(
        weights=weights_hash(model),
        alpha=args.alpha,
        iou=args.iou,
        every=args.every,
    )
    path = args.losses or args.checkpoint.with_suffix('.losses.npz')
    if path.is_file():
        kept = dict(np.load(path))
        if all(kept[name] == value for name, value in known.items()):
            return kept
    images: list[Image] = []
    rows, keys, patients = [], [], []
    for split in ('val', 'test'):
        settings = cfg[f'{split}_dataloader'].dataset
        settings.data_root = str(args.data_root)
        dataset = DATASETS.build(settings)
        patients += units_of(dataset)[1][:: args.every]
        taken = Subset(dataset, range(0, len(dataset), args.every))
        how = ({'nodule': 1}, args.alpha, args.iou, 0, BATCH)
        for found, sample in predict_steps(model, taken, *how):
            images.append(found['nodule'] | dict(whole=whole_steps(sample)))
            keys.append(sample.sample_key)
            rows.append(row_of(sample, found['nodule'], args.alpha))
    packed = dict(known, keys=keys, patients=patients, rows=rows)
    for name in images[0]:
        steps = [image[name] for image in images]
        packed[f'{name}_number'] = [len(s.levels) for s in steps]
        for part in Steps._fields:
            joined = torch.cat([getattr(s, part) for s in steps])
            packed[f'{name}_{part}'] = joined.numpy()
    arrays = {name: np.asarray(value) for name, value in packed.items()}
    np.savez(path, **arrays)
    return arrays


def whole_steps(sample: object) -> Steps:
    """Share of the whole image that a region leaves out, at every level."""
    probs = sample.seg_logits.data[1].float().exp()
    return promises.region_steps(
        probs, torch.ones_like(probs, dtype=torch.uint8)[None]
    )


def row_of(sample: object, steps: Image, alpha: float) -> list[float]:
    """Ends of the samples' areas, number of hypotheses, size of a mark."""
    areas = (sample.gt_sem_segs.data == 1).flatten(1).sum(1).float()
    marked = areas[areas > 0]
    samples = sample.pred_samples.data
    return [
        *promises.area_interval(samples, alpha),
        len(hypotheses(samples, samples[0], num_classes=2)),
        float(marked.mean()) if len(marked) else 0.0,
    ]


def unpack(arrays: dict[str, np.ndarray]) -> list[Image]:
    """The losses of each slice."""
    names = [n.removesuffix('_number') for n in arrays if 'number' in n]
    columns = {}
    for name in names:
        numbers = arrays[f'{name}_number'].tolist()
        parts = (
            torch.from_numpy(arrays[f'{name}_{part}']).split(numbers)
            for part in Steps._fields
        )
        columns[name] = [Steps(*pair) for pair in zip(*parts, strict=True)]
    return [
        dict(zip(names, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]


def divisions(
    patients: list[str], number: int, seed: int
) -> Iterator[tuple[list[int], list[int]]]:
    """Slices of one half of the patients and of the other, at random."""
    random = np.random.default_rng(seed)
    names = np.unique(patients)
    for _ in range(number):
        first = set(random.permutation(names)[: len(names) // 2])
        fit = [i for i, patient in enumerate(patients) if patient in first]
        yield fit, sorted(set(range(len(patients))) - set(fit))


def fit_and_try(
    images: list[Image],
    patients: list[str],
    fit: list[int],
    held: list[int],
    alpha: float,
) -> tuple[dict[str, float], dict[str, dict]]:
    """Levels fitted on some slices, and what held on others.

    ``region_of_marks`` is a region for those alone who marked something, as
    if the others had not been asked; ``hypotheses`` is what is promised of
    them, be it their number or their IoU.
    """
    levels = promises.fit_levels(
        [images[i] for i in fit], alpha, [patients[i] for i in fit]
    )
    others = [images[i] for i in held], [patients[i] for i in held]
    found = held_of(levels, *others)
    found['hypotheses'] = found.get('samples') or found['best_iou']
    marked = [i for i in fit if len(images[i]['region_if_marked'].levels)]
    level = promises.promised_level(
        [images[i]['region_if_marked'] for i in marked],
        alpha,
        [patients[i] for i in marked],
    )
    levels['region_of_marks'] = level
    found['region_of_marks'] = held_of({'region_if_marked': level}, *others)[
        'region_if_marked'
    ]
    return levels, found


def print_divisions(
    found: list[dict[str, dict]], fixed: dict[str, dict]
) -> None:
    """Table of what held over all divisions, and in the fixed one."""
    print('| promised | divisions | held, mean | 5 % to 95 % | by hash |')
    print('|---|---|---|---|---|')
    for name, words in ROWS.items():
        held = [100 * one[name]['held'] for one in found if name in one]
        if not held:
            continue
        low, high = np.quantile(held, (0.05, 0.95))
        cells = [words, str(len(held)), f'{np.mean(held):.1f} %']
        cells += [f'{low:.1f} to {high:.1f}', '-']
        if name in fixed:
            one = fixed[name]
            error = 100 * one['standard_error']
            cells[-1] = f'{100 * one["held"]:.1f} ± {error:.1f}'
        print('|', ' | '.join(cells), '|')


def print_fixed(
    levels: dict[str, float],
    images: list[Image],
    arrays: dict[str, np.ndarray],
    held: list[int],
) -> None:
    """How much the promises of the fixed division say, by size of marks."""
    rows = arrays['rows'][held]
    low, high = np.transpose(
        [promises.promised_area(*row[:2], levels['area']) for row in rows]
    )
    regions, of_marks = (
        np.array(
            [
                PIXELS * (1 - images[i]['whole'].loss(levels[name]))
                for i in held
            ]
        )
        for name in ('region', 'region_of_marks')
    )
    needed = np.minimum(levels.get('samples', np.inf), rows[:, 2])
    print(
        'Levels: '
        + ', '.join(f'{name} {level:.4g}' for name, level in levels.items())
    )
    print(f'Hypotheses needed: {needed.mean():.2f} of {rows[:, 2].mean():.2f}')
    patients = arrays['patients'][held]
    table = [
        [
            *('mean mark, pixels', 'slices', 'patients'),
            *('region held', 'median region', 'median region of marks'),
            *('area held', 'median width'),
        ]
    ]
    sizes = rows[:, 3]
    bounds = [*SIZES, np.inf]
    for start, end in [(0, np.inf), *itertools.pairwise(bounds)]:
        chosen = np.flatnonzero((sizes >= start) & (sizes < end))
        kept = {
            name: 1
            - np.mean(
                [images[held[i]][name].loss(levels[name]) for i in chosen]
            )
            for name in ('region', 'area')
        }
        table.append(
            [
                f'{start} to {end - 1:.0f}' if end < np.inf else f'{start} on',
                str(len(chosen)),
                str(len(np.unique(patients[chosen]))),
                f'{kept["region"]:.1%}',
                f'{np.median(regions[chosen]):.0f}',
                f'{np.median(of_marks[chosen]):.0f}',
                f'{kept["area"]:.1%}',
                f'{np.median((high - low)[chosen]):.0f}',
            ]
        )
    print(cli.format_table(table))


def main() -> None:
    """Predict what is missing, divide, and print tables."""
    args = parse_args()
    arrays = predict(args)
    images, patients = unpack(arrays), arrays['patients'].tolist()
    fit, held = split_halves(patients)
    levels, fixed = fit_and_try(images, patients, fit, held, args.alpha)
    tried = [
        fit_and_try(images, patients, *halves, args.alpha)
        for halves in divisions(patients, args.divisions, args.seed)
    ]
    print(
        f'{args.checkpoint.name}: {len(images)} slices of '
        f'{len(set(patients))} patients; promised {1 - args.alpha:.0%}, IoU '
        f'{args.iou}, seed {args.seed}'
    )
    print_divisions([held for _, held in tried], fixed)
    for name in ('samples', 'best_iou'):
        fitted = [found[name] for found, _ in tried if name in found]
        print(
            f'{name}: median level {np.median(fitted):.3f}' if fitted else ''
        )
    print_fixed(levels, images, arrays, held)


if __name__ == '__main__':
    cli.run_tool(main)
