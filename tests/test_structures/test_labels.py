import pytest
import torch
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample

from mmcar.structures import (
    label_distribution,
)


def make_sample(labels, flips=None):
    sample = SegDataSample(gt_sem_segs=PixelData(data=labels))
    if flips:
        sample.set_metainfo({'class_flips': flips})
    return sample


def brute_force(labels, num_classes, flips):
    height, width = labels.shape[1:]
    probs = torch.full((num_classes, height, width), 1 / num_classes)
    valid = torch.zeros(height, width, dtype=torch.bool)
    for y in range(height):
        for x in range(width):
            votes = [v for v in labels[:, y, x].tolist() if v != 255]
            if not votes:
                continue
            valid[y, x] = True
            p = [votes.count(k) / len(votes) for k in range(num_classes)]
            for c, t, q in flips:
                p[t], p[c] = q * p[c], (1 - q) * p[c]
            probs[:, y, x] = torch.tensor(p)
    return probs, valid


@pytest.mark.parametrize('flips', [(), ((0, 3, 0.25), (1, 4, 7 / 17))])
def test_distribution_by_brute_force(flips):
    torch.manual_seed(0)
    values = torch.tensor([0, 1, 2, 255], dtype=torch.uint8)
    labels = values[torch.randint(4, (3, 7, 9))]
    labels[:, 0, 0] = 255
    expected, expected_valid = brute_force(labels, 5, flips)
    sample = make_sample(labels, flips)
    for form in (sample, {**sample.to_dict(), 'class_flips': flips}):
        probs, valid = label_distribution(form, 5)
        torch.testing.assert_close(probs, expected)
        assert torch.equal(valid, expected_valid)
    torch.testing.assert_close(probs.sum(0), torch.ones(7, 9))


def test_missing_and_impossible_labels_are_explained():
    with pytest.raises(ValueError, match='keep_all=True'):
        label_distribution(SegDataSample(), 2)
    labels = torch.full((1, 2, 2), 7, dtype=torch.uint8)
    with pytest.raises(ValueError, match='label 7 is not one of the 2'):
        label_distribution(make_sample(labels), 2)
