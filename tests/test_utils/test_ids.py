"""More classes than bytes hold, in label maps of bytes."""

import pytest
import torch
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample

from mmcar.evaluation import (
    find_flip_states,
    fit_field,
    flip_probability_sums,
    pairwise_iou,
)
from mmcar.evaluation.functional.iou import _count_by_products
from mmcar.sampling.support_points import map_distances
from mmcar.structures import ClassFlips
from mmcar.utils.ids import has_id
from tests.test_evaluation.predicted import evaluator

CLASSES = 300
NAMES = tuple(map(str, range(CLASSES)))
# In bytes, 300 is 44, and 299 is 43.
FLIPS = ClassFlips.parse([(1, 299, 0.5), (44, 257, 0.25)], CLASSES)


def maps(number, seed=0, size=(6, 7)):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.tensor([1, 43, 44, 45, 255])
    pick = torch.randint(len(ids), (number, *size), generator=generator)
    return ids[pick]


def image(dtype):
    """A predicted image with labels of a type."""
    sample = SegDataSample(metainfo=dict(img_path='a.png'))
    logits = torch.randn(
        CLASSES, 6, 7, generator=torch.Generator().manual_seed(0)
    ).log_softmax(0)
    labels = maps(3, seed=1)
    labels[0] = 44  # no annotator who labelled nothing
    fields = dict(
        pred_samples=maps(4).short(),
        gt_sem_segs=labels.to(dtype),
        gt_sem_seg=labels[:1].to(dtype),
        pred_sem_seg=maps(1, seed=2).to(dtype),
        seg_logits=logits,
        sample_probs=logits.exp(),
    )
    sample.set_data({k: PixelData(data=v) for k, v in fields.items()})
    return sample.to_dict()


@pytest.mark.parametrize(
    'metric',
    [
        dict(type='GEDMetric', num_samples=4),
        dict(type='HMIoUMetric', num_samples=4),
        dict(type='FloodMetric', num_samples=4, largest=[0.2] * CLASSES),
        dict(type='CalibrationMetric'),
        dict(type='FiniteIoUMetric'),
    ],
)
def test_metrics(metric):
    scores = []
    for dtype in (torch.uint8, torch.int64):
        tool = evaluator(metric | dict(ignore_index=300), classes=NAMES)
        tool.process([image(dtype)])
        scores.append(tool.evaluate(1))
    assert scores[0] == pytest.approx(scores[1], nan_ok=True)


@pytest.mark.parametrize(
    'score',
    [
        lambda x: pairwise_iou(x, x, num_classes=256, ignore_index=300),
        lambda x: map_distances(x, CLASSES),
        lambda x: torch.tensor(find_flip_states(x, FLIPS)),
        lambda x: fit_field([x], CLASSES, 4, ignore_index=300).correlations,
        lambda x: FLIPS.flip_all(x),
        lambda x: flip_probability_sums(
            torch.full((CLASSES, 6, 7), 1 / CLASSES),
            x[0],
            flips=FLIPS,
            ignore_index=300,
        ),
        lambda x: torch.stack(
            _count_by_products(
                *[(x.flatten(1), torch.ones(1, 42, dtype=torch.bool))] * 2,
                [43, 44, 299],
            )[:1]
        ),
    ],
)
def test_functions(score):
    labels = maps(4)
    found, expected = score(labels.byte()), score(labels)
    torch.testing.assert_close(
        found, expected, check_dtype=False, equal_nan=True
    )


def test_has_id():
    bytes_ = torch.tensor([0, 44, 255], dtype=torch.uint8)
    assert has_id(bytes_, 44).tolist() == [False, True, False]
    assert not has_id(bytes_, 300).any() and not has_id(bytes_, -1).any()
