import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcar.evaluation import pairwise_iou

from .. import brute_force as bf


@settings(max_examples=60, deadline=None)
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
            bf.iou(
                p.numpy(),
                q.numpy(),
                ((p != 255) & (q != 255)).numpy(),
                classes,
                absent,
            )
            for q in y
        ]
        for p in x
    ]
    np.testing.assert_allclose(got, want, atol=1e-12)
    swapped = pairwise_iou(y, x, num_classes=k, classes=classes, absent=absent)
    assert torch.equal(swapped.T.nan_to_num(-1), got.nan_to_num(-1))


def test_a_pair_without_a_labelled_pixel_has_no_iou():
    left = torch.tensor([[[0, 1, 255, 255]]])
    right = torch.tensor([[[255, 255, 0, 1]]])
    both = torch.cat([left, right])
    iou = pairwise_iou(both, both, num_classes=2, absent='one')
    assert iou.diagonal().tolist() == [1, 1]
    assert iou[0, 1].isnan() and iou[1, 0].isnan()


def test_empty_masks():
    empty = torch.zeros(1, 4, 4, dtype=torch.uint8)
    full = torch.ones(1, 4, 4, dtype=torch.uint8)
    both = torch.cat([empty, full])
    one = pairwise_iou(both, both, num_classes=2, classes=(1,), absent='one')
    assert one.tolist() == [[1, 0], [0, 1]]
    skip = pairwise_iou(both, both, num_classes=2, classes=(1,))
    assert skip[0, 0].isnan() and skip.flatten()[1:].tolist() == [0, 0, 1]


def test_relabelling_all_classes_changes_nothing():
    x, y = bf.maps(4, 5, seed=1), bf.maps(3, 5, seed=2)
    new = torch.tensor([3, 0, 4, 2, 1])
    torch.testing.assert_close(
        pairwise_iou(new[x.long()], new[y.long()], num_classes=5),
        pairwise_iou(x, y, num_classes=5),
    )


@pytest.mark.parametrize('dtype', [torch.uint8, torch.int16, torch.int64])
def test_leading_image_dimension_and_dtypes(dtype):
    x = torch.stack([bf.maps(3, 4, seed=i) for i in range(2)]).to(dtype)
    y = torch.stack([bf.maps(2, 4, ignore=255, seed=9 + i) for i in (0, 1)])
    got = pairwise_iou(x, y.long(), num_classes=4)
    assert got.shape == (2, 3, 2)
    for i in range(2):
        torch.testing.assert_close(
            got[i], pairwise_iou(x[i], y[i], num_classes=4), equal_nan=True
        )


def test_more_than_256_classes():
    x = torch.tensor([[[5, 261, 299]]])
    y = torch.tensor([[[5, 5, 299]]])
    got = pairwise_iou(x, y, num_classes=300)
    assert got.item() == pytest.approx((0.5 + 0 + 1) / 3)


@pytest.mark.parametrize(
    ('a', 'b', 'options', 'message'),
    [
        ((2, 4, 4), (2, 4, 5), {}, r'one size.*a \(2, 4, 4\).*\(2, 4, 5\)'),
        ((0, 4, 4), (2, 4, 4), {}, r'a: .*non-empty'),
        ((2, 4, 4), (0, 4, 4), {}, r'b: .*non-empty'),
        ((4, 4), (2, 4, 4), {}, r'\(4, 4\)'),
        ((2, 4, 4), (2, 4, 4), {'absent': 'zero'}, 'absent.*zero'),
        ((2, 4, 4), (2, 4, 4), {'classes': (3,)}, r'classes.*\[3\]'),
        ((2, 4, 4), (2, 4, 4), {'classes': ()}, 'classes'),
    ],
)
def test_bad_shapes_and_options(a, b, options, message):
    a, b = (torch.zeros(s, dtype=torch.uint8) for s in (a, b))
    with pytest.raises(ValueError, match=message):
        pairwise_iou(a, b, num_classes=3, **options)


def test_bad_ids_and_types():
    good = torch.zeros(1, 2, 2, dtype=torch.uint8)
    with pytest.raises(ValueError, match=r'a: .*float32.*argmax'):
        pairwise_iou(good.float(), good, num_classes=2)
    with pytest.raises(ValueError, match=r'b: .*0\.\.1 or 255.*\[7\]'):
        pairwise_iou(good, good + 7, num_classes=2)
    with pytest.raises(ValueError, match=r'a: .*\[-1\]'):
        pairwise_iou(good.long() - 1, good, num_classes=2)
