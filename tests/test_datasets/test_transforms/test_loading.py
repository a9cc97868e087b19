import numpy as np
from mmseg.registry import TRANSFORMS

from mmcar.datasets.transforms.loading import majority


def test_majority_by_brute_force():
    rng = np.random.default_rng(0)
    labels = rng.choice([0, 1, 2, 255], (4, 9, 8)).astype(np.uint8)
    labels[:, 0] = 255  # nobody labelled it
    result = majority(labels)
    for y, x in np.ndindex(9, 8):
        votes = [v for v in labels[:, y, x].tolist() if v != 255]
        best = min(set(votes), key=lambda v: (-votes.count(v), v), default=255)
        assert result[y, x] == best


def test_an_image_without_labels_passes():
    load = TRANSFORMS.build(dict(type='LoadMultiAnnotations', draw=False))
    results = {'img_path': 'x.png'}
    assert load(dict(results)) == results
