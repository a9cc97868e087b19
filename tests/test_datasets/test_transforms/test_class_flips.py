import numpy as np
import pytest

from mmcar.datasets.transforms import RandomClassFlips

from .test_geometry import coded_results

FLIPS = ((1, 6, 8 / 17), (2, 7, 7 / 17), (3, 8, 1 / 17), (4, 9, 1.0))


def test_flip_frequencies_match_the_table():
    np.random.seed(1)
    label = np.repeat(np.arange(6, dtype=np.uint8), 5).reshape(6, 5)
    label = np.concatenate([label, np.full((1, 5), 255, np.uint8)])
    transform = RandomClassFlips(FLIPS)
    draws = 4000
    states = np.zeros((draws, len(FLIPS)))
    for n in range(draws):
        result = transform({'gt_seg_map': label})['gt_seg_map']
        # A whole class has one state, everything else stays.
        assert (result == result[:, :1]).all()
        assert result[[0, 5, 6], 0].tolist() == [0, 5, 255]
        states[n] = [result[c, 0] == t for c, t, _ in FLIPS]
        for c, t, _ in FLIPS:
            assert result[c, 0] in (c, t)
    probability = np.array([p for *_, p in FLIPS])
    error = np.sqrt(probability * (1 - probability) / draws)
    assert (abs(states.mean(0) - probability) <= 3 * error).all()
    correlation = np.corrcoef(states[:, :3].T)[np.triu_indices(3, 1)]
    assert abs(correlation).max() < 3.5 / np.sqrt(draws)


def test_flips_change_the_drawn_label_alone():
    results = coded_results(8, 8, 1)
    results['class_flips'] = ((1, 200, 1.0),)
    results = RandomClassFlips()(results)
    assert (results['gt_seg_map'] == 200).sum() == 1
    assert (results['gt_seg_map_0'] == 200).sum() == 0


def test_missing_table_is_explained():
    with pytest.raises(ValueError, match='has no table'):
        RandomClassFlips()({'gt_seg_map': np.zeros((2, 2), np.uint8)})
