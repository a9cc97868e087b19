import torch

from mmcar.evaluation import class_shares, floods, max_class_area
from mmcar.structures import ClassFlips
from tests.test_evaluation import brute_force as bf


def brute_force_share(label_map, class_id):
    rows = label_map.tolist()
    hits = sum(value == class_id for row in rows for value in row)
    return hits / (len(rows) * len(rows[0]))


def test_shares_and_floods_equal_counting_pixels():
    annotations = [bf.maps(3, 4, ignore=255, seed=i) for i in range(5)]
    samples = torch.cat([bf.maps(9, 4, seed=9), annotations[1][:1]])
    samples[3] = 2
    samples[4] = 0
    largest = [
        max(brute_force_share(m, k) for maps in annotations for m in maps)
        for k in range(4)
    ]
    found = max_class_area(annotations, 4)
    assert found.tolist() == largest
    for classes in (None, (1, 2)):
        expected = [
            any(
                brute_force_share(m, k) > largest[k]
                for k in classes or range(4)
            )
            for m in samples
        ]
        assert floods(samples, found, classes).tolist() == expected
    assert expected[3] and not expected[4] and not expected[-1]


def test_ignored_pixels_belong_to_no_class():
    labels = torch.tensor([[[0, 255], [1, -1]]])
    assert class_shares(labels, 2).tolist() == [[0.25, 0.25]]
    assert class_shares(labels.byte(), 300)[0, 255] == 0.5  # -1 wraps


def test_a_twin_may_cover_as_much_as_its_class():
    labels = torch.tensor([[[0, 0, 0, 1]]])
    flips = ClassFlips.parse([(0, 2, 0.5)])
    assert max_class_area([labels], 3, flips).tolist() == [0.75, 0.25, 0.75]
