"""Slow and obvious versions, written from the definitions with loops."""

import itertools
import math

import numpy as np
import torch
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment


def iou(x, y, mask, classes, absent):
    """Mean IoU of two maps on the pixels of mask; NaN if undefined."""
    if not mask.any():
        return math.nan
    values = []
    for c in classes:
        in_x, in_y = (x == c) & mask, (y == c) & mask
        union = int((in_x | in_y).sum())
        if union:
            values.append(int((in_x & in_y).sum()) / union)
        elif absent == 'one':
            values.append(1.0)
    return sum(values) / len(values) if values else math.nan


def expectation(pairs):
    """Mean of (weight, value) pairs whose value is not NaN."""
    pairs = [(w, v) for w, v in pairs if not math.isnan(v)]
    total = sum(w for w, _ in pairs)
    return sum(w * v for w, v in pairs) / total if total else math.nan


def ged_terms(samples, labels, weights, classes, ignore, absent):
    s, y = list(samples.numpy()), list(labels.numpy())
    every = np.zeros_like(y[0], dtype=bool)
    for label in y:
        every |= label != ignore

    def d(a, b, mask):
        return 1 - iou(a, b, mask, classes, absent)

    given = [*zip(y, weights, strict=True)]
    cross = [(w, d(a, b, b != ignore)) for a in s for b, w in given]
    within = [(1, d(a, b, every)) for a in s for b in s]
    truth = [
        (v * w, d(a, b, (a != ignore) & (b != ignore)))
        for a, v in given
        for b, w in given
    ]
    return tuple(map(expectation, (cross, within, truth)))


def modes(label, flips):
    """All 2^n flipped labels with their probabilities."""
    maps, probs = [], []
    for state in itertools.product((0, 1), repeat=len(flips)):
        mode, prob = label.clone(), 1.0
        for on, (c, twin, p) in zip(state, flips, strict=True):
            prob *= p if on else 1 - p
            if on:
                mode[label == c] = twin
        maps.append(mode)
        probs.append(prob)
    return torch.stack(maps), probs


def hm_iou(samples, labels, classes, ignore, absent):
    labels = [label for label in labels if (label != ignore).any()]
    if not labels:
        return math.nan
    size = math.lcm(len(samples), len(labels))
    s = [samples[i % len(samples)].numpy() for i in range(size)]
    y = [labels[i % len(labels)].numpy() for i in range(size)]
    table = np.array(
        [[iou(a, b, b != ignore, classes, absent) for b in y] for a in s]
    )
    if np.isnan(table).any():
        return math.nan
    return table[linear_sum_assignment(-table)].mean()


def blank_some(labels, seed, ignore=255):
    """Leave some labels empty, and give some the pixels of no other."""
    rng = np.random.default_rng(seed)
    labels, rows = labels.clone(), labels.shape[1]
    for i, kind in enumerate(rng.integers(0, 3, len(labels))):
        if kind == 0:
            labels[i] = ignore
        elif kind == 1:
            others = torch.arange(rows) % len(labels) != i
            labels[i, others] = ignore
    return labels


def maps(count, num_classes, size=(5, 7), ignore=None, seed=0):
    """Random label maps; some classes may be missing from some maps."""
    rng = np.random.default_rng(seed)
    out = np.empty((count, *size), dtype=np.uint8)
    for m in out:
        keep = rng.random(num_classes) < 0.6
        ids = np.flatnonzero(keep) if keep.any() else np.array([0])
        m[:] = rng.choice(ids, size)
        if ignore is not None:
            m[rng.random(size) < 0.3] = ignore
    return torch.from_numpy(out)


seeds = st.integers(0, 2**32 - 1)
