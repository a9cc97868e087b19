import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcar.evaluation import pairwise_iou

from .. import brute_force as bf


@settings(max_examples=60)
@given(
    seed=bf.seeds,
    s=st.integers(1, 5),
    a=st.integers(1, 4),
    k=st.integers(1, 5),
    absent=st.sampled_from(['skip', 'one']),
    ignore=st.sampled_from([None, 255]),
)
def test_equals_brute_force(seed, s, a, k, absent, ignore):
    x = bf.maps(s, k, ignore=ignore, seed=seed)
    y = bf.maps(a, k, ignore=ignore, seed=seed + 1)
    if ignore:
        x, y = bf.blank_some(x, seed), bf.blank_some(y, seed + 1)
    classes = list(range(seed % k, k))
    got = pairwise_iou(x, y, num_classes=k, classes=classes, absent=absent)
    want = [
        [
            bf.iou(p, q, (p != 255) & (q != 255), classes, absent)
            for q in y.numpy()
        ]
        for p in x.numpy()
    ]
    np.testing.assert_allclose(got, want, atol=1e-12)
    new = torch.from_numpy(np.random.default_rng(seed).permutation(k))
    new = torch.cat([new, torch.full((256 - k,), 255)])  # other names of ids
    x, y, classes = new[x.long()], new[y.long()], new[classes].tolist()
    named = pairwise_iou(y, x, num_classes=k, classes=classes, absent=absent)
    np.testing.assert_allclose(named.T, got)


def test_a_pair_without_a_labelled_pixel_has_no_iou():
    left = torch.tensor([[[0, 1, 255, 255]]])
    right = torch.tensor([[[255, 255, 0, 1]]])
    both = torch.cat([left, right])
    iou = pairwise_iou(both, both, num_classes=2, absent='one')
    assert iou.diagonal().tolist() == [1, 1]
    assert iou[0, 1].isnan() and iou[1, 0].isnan()


@pytest.mark.parametrize('dtype', [torch.uint8, torch.int16, torch.int64])
def test_leading_image_dimension_and_dtypes(dtype):
    x = torch.stack([bf.maps(3, 4, seed=i) for i in range(2)]).to(dtype)
    y = torch.stack([bf.maps(2, 4, ignore=255, seed=9 + i) for i in (0, 1)])
    got = pairwise_iou(x, y.long(), num_classes=4)
    assert got.shape == (2, 3, 2)
    for i in range(2):
        one = pairwise_iou(x[i], y[i], num_classes=4)
        torch.testing.assert_close(got[i], one, equal_nan=True)


def test_more_than_256_classes():
    x = torch.tensor([[[5, 261, 299]]])
    y = torch.tensor([[[5, 5, 299]]])
    got = pairwise_iou(x, y, num_classes=300)
    assert got.item() == pytest.approx((0.5 + 0 + 1) / 3)
