import pytest
import torch
from mmengine.structures import PixelData
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample

from mmcar.utils.errors import UserError

IGNORE = 255


def _build():
    return MODELS.build({'type': 'KnownDistribution', 'num_classes': 3})


def _sample(labels, **metainfo):
    sample = SegDataSample(metainfo=metainfo)
    sample.gt_sem_segs = PixelData(data=torch.tensor(labels).byte())
    return sample


def _probs(net, samples, size):
    logits = net(torch.zeros(len(samples), 3, *size), None, samples)
    return logits.softmax(1)


def test_mean_of_annotators():
    sample = _sample([[[0, 1], [IGNORE, 2]], [[0, 2], [IGNORE, IGNORE]]])
    probs = _probs(_build(), [sample], (2, 2))[0]
    third = 1 / 3
    wanted = [
        [[1.0, 0.0], [third, 0.0]],
        [[0.0, 0.5], [third, 0.0]],
        [[0.0, 0.5], [third, 1.0]],
    ]
    assert torch.allclose(probs, torch.tensor(wanted), atol=1e-6)


@pytest.mark.parametrize('key', ['padding_size', 'img_padding_size'])
def test_padding_is_uniform(key):
    sample = _sample([[[0, 1], [2, 0]]], **{key: (0, 3, 0, 1)})
    probs = _probs(_build(), [sample], (3, 5))[0]
    assert torch.equal(
        probs[:, :2, :2].argmax(0), torch.tensor([[0, 1], [2, 0]])
    )
    assert torch.allclose(probs[:, 2], torch.tensor(1 / 3))
    assert torch.allclose(probs[:, :, 2:], torch.tensor(1 / 3))


def test_flipped_decision_moves_the_decided_class_to_its_twin():
    net = MODELS.build(
        dict(type='FlippedDecision', num_classes=3, black_box_classes=2)
    )
    black_box = torch.tensor([[0.7, 0.3], [0.3, 0.7]]).T.view(1, 2, 1, 2)
    image, black_box = torch.zeros(2, 3, 1, 2), black_box.expand(2, 2, 1, 2)
    samples = [
        SegDataSample(metainfo=dict(class_flips=((0, 2, probability),)))
        for probability in (0.25, 0.5)
    ]
    probs = net(image, black_box, samples).softmax(1)[:, :, 0]
    for found, p in zip(probs, (0.25, 0.5), strict=True):
        expected = torch.tensor([[1 - p, 0.0], [0.0, 1.0], [p, 0.0]])
        torch.testing.assert_close(found, expected)
    for without in (None, [SegDataSample(), SegDataSample()]):
        with pytest.raises(UserError, match='class_flips'):
            net(image, black_box, without)
