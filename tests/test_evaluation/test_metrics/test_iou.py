import pytest
import torch
from mmseg.evaluation.metrics import IoUMetric

from mmcar.evaluation import FiniteIoUMetric


@pytest.mark.parametrize('ignored', [255, 2, -1])
def test_areas_are_those_of_mmseg(ignored):
    g = torch.Generator().manual_seed(0)
    label = torch.randint(5, (13, 17), generator=g)
    label[::5] = ignored
    label[0, 0] = 9  # neither a class nor ignored
    decision = torch.randint(6, label.shape, generator=g)  # 5 is no class
    decision[3] = -1
    got = FiniteIoUMetric.intersect_and_union(decision, label, 5, ignored)
    want = IoUMetric.intersect_and_union(decision, label, 5, ignored)
    for found, wanted in zip(got, want, strict=True):
        assert torch.equal(found, wanted.double())
    assert got[0].sum() > 0 and (got[2] != got[3]).any()


def test_areas_beyond_what_float32_counts():
    many = 2**24 + 1
    label = torch.ones(1, many, dtype=torch.uint8)
    got = FiniteIoUMetric.intersect_and_union(label, label, 2, 255)
    assert [area.tolist() for area in got] == [[0, many]] * 4
