"""GED of one image: ours, a loop over pairs, one large tensor operation.

Every version has a process of its own, with one thread; they take turns. Its
peak memory is what it adds to the process that holds the maps. A loop that
would take longer than ``--loop-seconds`` stops there and its time is scaled by
the number of pairs.
"""

import argparse
import math
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mmcar.datasets import Cityscapes24Dataset
from mmcar.evaluation import (
    ged,
)
from mmcar.structures import class_flips_of

from .timing import forget_peak, resident

MEASURED = ('seconds', 'peak_mb', 'share_of_pairs')
FLIPS = class_flips_of(Cityscapes24Dataset.METAINFO)


def lidc(num_samples: int) -> tuple[Tensor, Tensor]:
    """Random blobs: samples (S, 128, 128) and labels (4, 128, 128)."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:128, :128]
    maps = [
        np.hypot(y - cy, x - cx) < r
        for cy, cx, r in zip(
            *rng.normal(64, 6, (2, num_samples + 4)),
            rng.uniform(5, 30, num_samples + 4),
            strict=True,
        )
    ]
    maps = torch.from_numpy(np.stack(maps).astype(np.uint8))
    return maps[:num_samples], maps[num_samples:]


def cityscapes24(num_samples: int) -> tuple[Tensor, Tensor]:
    """Random patches: samples (S, 256, 512) and a base label (256, 512)."""
    g = torch.Generator().manual_seed(0)
    maps = torch.randint(
        24, (num_samples + 1, 32, 64), generator=g, dtype=torch.uint8
    )
    maps = maps.repeat_interleave(8, 1).repeat_interleave(8, 2)
    return maps[:-1], maps[-1] % 19


def modes(label: Tensor) -> tuple[Tensor, Tensor]:
    """All that a label (H, W) can become, (2^n, H, W), and how likely."""
    maps, probs = label[None], torch.ones(1, dtype=torch.float64)
    for source, twin, p in FLIPS:
        flipped = torch.where(label == source, twin, maps).to(maps.dtype)
        maps = torch.cat([maps, flipped])
        probs = torch.cat([probs * (1 - p), probs * p])
    return maps, probs


def ours_lidc(samples: Tensor, labels: Tensor, limit: float) -> tuple:
    """Packed bits."""
    options = {'num_classes': 2, 'classes': (1,), 'absent': 'one'}
    return ged(samples, labels, **options).item(), 1.0


def ours_flips(samples: Tensor, label: Tensor, limit: float) -> tuple:
    """Packed bits, and no modes."""
    found = ged(samples, label[None], flips=FLIPS, num_classes=24)
    return found.item(), 1.0


def _loop(
    distance: Callable[[np.ndarray, np.ndarray], float],
    samples: Iterable[np.ndarray],
    labels: Iterable[np.ndarray],
    weights: np.ndarray,
    limit: float,
) -> tuple[float, float]:
    """GED pair by pair; also the share of the pairs done in the limit."""
    samples, labels = list(samples), list(labels)
    uniform = np.full(len(samples), 1 / len(samples))
    sides = [
        (2, samples, uniform, labels, weights),
        (-1, samples, uniform, samples, uniform),
        (-1, labels, weights, labels, weights),
    ]
    total, done = 0.0, 0
    pairs = sum(len(a) * len(b) for _, a, _, b, _ in sides)
    start = time.process_time()
    for sign, a, a_weights, b, b_weights in sides:
        for x, v in zip(a, a_weights, strict=True):
            for y, w in zip(b, b_weights, strict=True):
                if time.process_time() - start > limit:
                    return math.nan, done / pairs
                total += sign * v * w * distance(x, y)
                done += 1
    return float(total), 1.0


def loop_sklearn(samples: Tensor, labels: Tensor, limit: float) -> tuple:
    """Pair by pair with scikit-learn's ``jaccard_score``."""
    from sklearn.metrics import jaccard_score

    def distance(x: np.ndarray, y: np.ndarray) -> float:
        if not x.any() and not y.any():
            return 0.0
        return 1 - jaccard_score(x, y)

    weights = np.full(len(labels), 1 / len(labels))
    flat = (m.flatten(1).numpy() for m in (samples, labels))
    return _loop(distance, *flat, weights, limit)


def _loop_confusion(
    confusion: Callable[[np.ndarray, np.ndarray], np.ndarray],
    samples: Tensor,
    label: Tensor,
    limit: float,
) -> tuple:
    def distance(x: np.ndarray, y: np.ndarray) -> float:
        table = confusion(x, y)
        inter = np.diag(table)[FLIPS.ids]
        union = (table.sum(0) + table.sum(1))[FLIPS.ids] - inter
        return 1 - (inter[union > 0] / union[union > 0]).mean()

    labels, weights = modes(label)
    flat = (m.flatten(1).numpy() for m in (samples, labels))
    return _loop(distance, *flat, weights.numpy(), limit)


def loop_confusion(samples: Tensor, label: Tensor, limit: float) -> tuple:
    """Pair by pair with scikit-learn's ``confusion_matrix``."""
    from sklearn.metrics import confusion_matrix

    ids = list(range(24))
    return _loop_confusion(
        lambda x, y: confusion_matrix(x, y, labels=ids), samples, label, limit
    )


def loop_bincount(samples: Tensor, label: Tensor, limit: float) -> tuple:
    """Pair by pair with ``np.bincount``, the fastest plain loop."""

    def confusion(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        joint = x.astype(np.int64) * 24 + y
        return np.bincount(joint, minlength=24 * 24).reshape(24, 24)

    return _loop_confusion(confusion, samples, label, limit)


def _broadcast_iou(a: Tensor, b: Tensor) -> Tensor:
    """All pairs of masks (N, P) and (M, P) at once: (N, M), NaN if empty."""
    a, b = a[:, None], b[None]
    return (a & b).sum(-1) / (a | b).sum(-1).double()


def _energy(distance: Callable, a: Any, b: Any, weights: Tensor) -> tuple:
    cross = (distance(a, b) @ weights).mean()
    truth = weights @ distance(b, b) @ weights
    return (2 * cross - distance(a, a).mean() - truth).item(), 1.0


def broadcast_lidc(samples: Tensor, labels: Tensor, limit: float) -> tuple:
    """All pairs in one tensor."""
    a, b = (m.flatten(1).bool() for m in (samples, labels))
    weights = torch.full((len(b),), 1 / len(b), dtype=torch.float64)
    return _energy(
        lambda x, y: 1 - _broadcast_iou(x, y).nan_to_num(1), a, b, weights
    )


def broadcast_flips(samples: Tensor, label: Tensor, limit: float) -> tuple:
    """All pairs in one tensor; per class, or it would take 10 GB."""
    labels, weights = modes(label)

    def distance(x: Tensor, y: Tensor) -> Tensor:
        ious = [_broadcast_iou(x == c, y == c) for c in FLIPS.ids]
        return 1 - torch.stack(ious).nanmean(0)

    maps = (m.flatten(1) for m in (samples, labels))
    return _energy(distance, *maps, weights)


CASES: dict[str, tuple[Callable, int, dict[str, Callable]]] = {
    'LIDC 128x128, 16 samples, 4 labels': (
        lidc,
        16,
        {
            'ours': ours_lidc,
            'loop (jaccard_score)': loop_sklearn,
            'broadcast': broadcast_lidc,
        },
    ),
    'LIDC 128x128, 100 samples, 4 labels': (
        lidc,
        100,
        {
            'ours': ours_lidc,
            'loop (jaccard_score)': loop_sklearn,
            'broadcast': broadcast_lidc,
        },
    ),
    'Cityscapes24 256x512, 16 samples, 32 modes': (
        cityscapes24,
        16,
        {
            'ours': ours_flips,
            'loop (confusion_matrix)': loop_confusion,
            'loop (bincount)': loop_bincount,
            'broadcast': broadcast_flips,
        },
    ),
}


def measure(case: str, version: str, limit: float) -> dict:
    """Time one version on one case; runs in a process of its own."""
    make, num_samples, versions = CASES[case]
    maps = make(num_samples)
    before = forget_peak()
    seconds = []
    for _ in range(10 if version == 'ours' else 1):
        start = time.process_time()
        value, share = versions[version](*maps, limit)
        seconds.append((time.process_time() - start) / share)
    return {
        'case': case,
        'version': version,
        'seconds': statistics.median(seconds),
        'peak_mb': resident('VmHWM') - before,
        'value': None if math.isnan(value) else value,
        'share_of_pairs': share,
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the subcommand."""
    parser.add_argument(
        '--loop-seconds',
        type=float,
        default=10,
        help='stop a loop over pairs after this time and extrapolate',
    )
    parser.add_argument('--repeats', type=int, default=3)


def in_turns(case: str, limit: float, repeats: int) -> list[dict]:
    """A row per version of a case, its medians over the turns."""
    context = multiprocessing.get_context('fork')
    versions = CASES[case][2]
    turns = []
    with ExitStack() as stack:
        pools = {
            version: stack.enter_context(
                ProcessPoolExecutor(1, context, torch.set_num_threads, (1,))
            )
            for version in versions
        }
        for _ in range(repeats):
            turns.append(
                [
                    pool.submit(measure, case, version, limit).result()
                    for version, pool in pools.items()
                ]
            )
    return [
        own[0]
        | {k: statistics.median(row[k] for row in own) for k in MEASURED}
        for own in zip(*turns, strict=True)
    ]


def run(args: argparse.Namespace) -> list[dict]:
    """Measure every version of every case; print and return the rows."""
    rows = []
    for case in CASES:
        print(f'\n{case}')
        ours, *_ = found = in_turns(case, args.loop_seconds, args.repeats)
        for row in found:
            row['times_ours'] = row['seconds'] / ours['seconds']
            if row['value'] is not None:
                wrong = abs(row['value'] - ours['value']) > 1e-5
                if wrong:
                    raise RuntimeError(f'scores differ: {ours} and {row}')
            about = '~' if row['share_of_pairs'] < 1 else ' '
            print(
                f'  {row["version"]:26}{about}{row["seconds"] * 1e3:12.1f} ms'
                f'{row["times_ours"]:10.0f} x{row["peak_mb"]:9.0f} MB'
            )
        rows += found
    return rows
