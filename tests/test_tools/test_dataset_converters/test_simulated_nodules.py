"""Simulated nodules: what readers see is what the kind says."""

import numpy as np

from ..scripts import load_script

tool = load_script('dataset_converters/simulated_nodules.py')


def nodules(kind: str, number: int = 40) -> list:
    return [
        tool.simulate_nodule(np.random.default_rng([1, i]), 64, kind)
        for i in range(number)
    ]


def areas(kind: str) -> np.ndarray:
    return np.array([n.masks.sum((1, 2)) for n in nodules(kind)])


def test_readers_of_a_clear_nodule_differ_at_its_edge_alone():
    found = areas('clear')
    assert found.min() > 0
    assert (found.max(1) / found.min(1)).mean() < 2


def test_a_halo_is_drawn_by_some_readers_as_a_whole():
    found = areas('halo')
    ratio = found.max(1) / found.min(1)
    assert (ratio > 2).mean() > 0.6, 'most halos divide four readers'
    assert found.min() > 0


def test_a_faint_nodule_is_missed_by_some_readers():
    found = areas('faint') == 0
    assert 0.3 < found.mean() < 0.7
    assert found.any(1).mean() > 0.6


def test_the_image_shows_what_readers_go_by():
    """The more contrast, the more of them see a faint nodule."""
    contrast, share = [], []
    for nodule in nodules('faint', 120):
        seen = nodule.masks.any(0)
        if seen.any():
            image = nodule.image.astype(float)
            contrast.append(image[seen].mean() - image[~seen].mean())
            share.append(nodule.masks.any((1, 2)).mean())
    assert np.corrcoef(contrast, share)[0, 1] > 0.2
