"""What every function takes and refuses: axes, arrays, weights, ids."""

import numpy as np
import pytest
import torch

from mmcar.evaluation import calibration, ged, hm_iou, hypotheses, pairwise_iou
from mmcar.utils.errors import UserError

from .. import brute_force as bf

SCORES = (ged, hm_iou)
THREE = dict(num_classes=3)


@pytest.mark.parametrize('dtype', ['u1', 'u2', '>u2', 'i8', '>i4'])
@pytest.mark.parametrize('score', SCORES)
def test_arrays_count_as_tensors(score, dtype):
    x, y = bf.maps(3, 3), bf.maps(2, 3, ignore=255, seed=1)
    given = [m.numpy().astype(dtype)[:, ::-1] for m in (x, y)]
    given[0].flags.writeable = False
    weights = np.array([1, 2, 3])
    want = score(x.flip(1), y.flip(1), **THREE, sample_weights=weights)
    assert score(*given, **THREE, sample_weights=weights) == want
    probs = torch.rand(3, 5, 7).softmax(0).double()
    found = calibration(probs.numpy().astype('>f8'), y.numpy())
    assert found.sums.equal(calibration(probs, y).sums)
    groups = hypotheses(x.numpy(), x[0].numpy(), **THREE)
    assert groups == hypotheses(x, x[0], **THREE)


@pytest.mark.parametrize(
    ('samples', 'labels'),
    [
        *(((16, 4, 5, 7), (4, 2, 5, 7)), ((4, 16, 5, 7), (2, 4, 5, 7))),
        *(((4, 16, 5, 7), (4, 2, 7, 5)), ((4, 16, 5, 7), (4, 5, 7))),
        *(((16, 5, 7), (4, 2, 5, 7)), ((0, 16, 5, 7), (0, 2, 5, 7))),
        *(((4, 0, 5, 7), (4, 2, 5, 7)), ((2, 16, 4, 5, 7), (2, 16, 4, 5, 7))),
    ],
)
def test_shapes_that_tell_a_wrong_order_are_refused(samples, labels):
    x, y = (torch.zeros(shape).int() for shape in (samples, labels))
    for score in (*SCORES, pairwise_iou):
        with pytest.raises(UserError, match=r'samples|a '):
            score(x, y, num_classes=2)
    if len(samples) == len(labels):  # else they are labels and probabilities
        with pytest.raises(UserError, match='probs'):
            calibration(x / 2, y)


def test_the_number_of_samples_tells_as_many_images_as_samples():
    x, y = torch.zeros(4, 2, 5, 7).int(), torch.zeros(4, 2, 5, 7).int()
    assert ged(x, y, num_classes=2, num_samples=2).tolist() == [0] * 4
    for wrong in (
        lambda: ged(x, y, num_classes=2, num_samples=4),
        lambda: hm_iou(x, y, num_classes=2, num_samples=4),
        lambda: hypotheses(x, y[:, 0], num_classes=2, num_samples=4),
    ):
        with pytest.raises(UserError, match='num_samples=4'):
            wrong()


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (dict(x=torch.rand(2, 5, 7)), r'samples: .*float32.*argmax'),
        (dict(x=[[[0, 1]]]), r'samples: .*list'),
        (dict(x=np.zeros((2, 5, 7), object)), r'samples: .*object'),
        (dict(x=torch.full((2, 5, 7), 255)), r'samples.*0\.\.2, .*\[255\]'),
        (dict(x=torch.full((2, 5, 7), -1)), r'samples: .*\[-1\]'),
        (dict(y=torch.full((2, 5, 7), 7)), r'labels: .*or 255.*\[7\]'),
        (dict(classes=(3,)), r'classes.*0\.\.2.*3'),
        (dict(num_classes=0), 'num_classes'),
        (dict(classes=()), 'classes'),
        (dict(classes=(1, 1)), 'classes'),
        (dict(absent='zero'), 'absent.*zero'),
        (dict(sample_weights=[1.0]), r'sample_weights: .*\(2,\).*\(1,\)'),
        (dict(sample_weights=[-1.0, 2.0]), 'sample_weights: .*>= 0'),
        (dict(sample_weights=[0.0, 0.0]), 'sample_weights: .*positive'),
    ],
)
@pytest.mark.parametrize('score', SCORES)
def test_bad_maps_and_options(score, change, message):
    how = THREE | change
    maps = [how.pop(name, bf.maps(2, 3)) for name in 'xy']
    with pytest.raises(UserError, match=message):
        score(*maps, **how)


@pytest.mark.parametrize(
    ('probs', 'labels', 'message'),
    [
        (torch.full((2, 3, 3), 4.0), torch.zeros(1, 3, 3), 'not logits'),
        (torch.full((2, 3, 3), torch.nan), torch.zeros(1, 3, 3), 'NaN'),
        (torch.zeros(2, 3, 3).int(), torch.zeros(1, 3, 3), 'probs: .*int32'),
        (torch.rand(2, 3, 3), torch.zeros(1, 3, 4), 'one size'),
        (torch.full((2, 3, 3), 0.8), torch.zeros(1, 3, 3), 'add up'),
        (torch.rand(2, 3, 3), torch.full((1, 3, 3), 2), r'labels: .*\[2\]'),
    ],
)
def test_bad_probabilities(probs, labels, message):
    with pytest.raises(UserError, match=message):
        calibration(probs, labels.int())
    with pytest.raises(UserError, match='num_bins'):
        calibration(probs, labels.int(), num_bins=0)


@pytest.mark.parametrize('wrong', [-1, torch.nan, torch.inf])
def test_bad_weights_of_observations(wrong):
    labels = torch.zeros(1, 3, 3).int()
    weights = labels.double() + wrong
    with pytest.raises(UserError, match='weights'):
        calibration(torch.full((2, 3, 3), 0.5), labels, weights=weights)


def test_weights_of_every_image():
    samples, labels = bf.maps(8, 3), bf.maps(4, 3, seed=1)
    samples, labels = samples.view(2, 4, 5, 7), labels.view(2, 2, 5, 7)
    weights = torch.rand(2, 4)
    others = dict.fromkeys(SCORES, labels) | {hypotheses: samples[:, 0]}
    for function, other in others.items():
        both = function(samples, other, **THREE, sample_weights=weights)
        for i in range(2):
            how = THREE | dict(sample_weights=weights[i])
            assert both[i] == function(samples[i], other[i], **how)


def test_masks_count_as_labels():
    x, y = bf.maps(3, 2), bf.maps(2, 2, seed=1)
    for score in SCORES:
        want = score(x, y, num_classes=2)
        assert score(x > 0, y.numpy() > 0, num_classes=2) == want


@pytest.mark.parametrize('shape', [(), (5,), (1, 5, 7), (7, 5)])
def test_decisions_of_another_shape(shape):
    with pytest.raises(UserError, match=r'decision.*\(5, 7\)'):
        hypotheses(bf.maps(3, 3), torch.zeros(shape).int(), **THREE)
