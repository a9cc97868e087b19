"""The baselines that it is compared with compute the same scores."""

import argparse
from types import SimpleNamespace

import pytest
import torch

from ..speed import metrics


def test_all_versions_agree():
    for make, _, versions in metrics.CASES.values():
        samples, labels = make(3)
        small = samples[..., ::8, ::8], labels[..., ::8, ::8]
        values = {
            name: version(*(m.contiguous() for m in small), 60.0)
            for name, version in versions.items()
        }
        for value, share in values.values():
            assert share == 1
            assert value == pytest.approx(values['ours'][0], abs=1e-9)


def test_a_loop_stops_at_its_limit():
    maps = torch.zeros(2, 8, 8, dtype=torch.uint8)
    value, share = metrics.loop_sklearn(maps, maps, 0.0)
    assert value != value and share < 1


def test_versions_take_turns(monkeypatch):
    asked, seconds = [], iter([1.0, 9.0, 3.0, 4.0, 2.0, 5.0])

    class Here:
        """A pool that works in this process."""

        def __init__(self, *args):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *args):
            pass

        def submit(self, call, *args):
            return SimpleNamespace(result=lambda: call(*args))

    def measure(case, version, limit):
        asked.append(version)
        row = dict(case=case, version=version, value=0.5, peak_mb=1.0)
        return row | dict(seconds=next(seconds), share_of_pairs=1.0)

    cases = dict(c=(None, 1, dict(ours=None, loop=None)))
    monkeypatch.setattr(metrics, 'CASES', cases)
    monkeypatch.setattr(metrics, 'ProcessPoolExecutor', Here)
    monkeypatch.setattr(metrics, 'measure', measure)
    rows = metrics.run(argparse.Namespace(loop_seconds=1, repeats=3))
    assert asked == ['ours', 'loop'] * 3
    assert [row['seconds'] for row in rows] == [2.0, 5.0]
    assert rows[1]['times_ours'] == 2.5


@pytest.mark.slow
def test_ratios():
    rows = metrics.run(argparse.Namespace(loop_seconds=10, repeats=1))
    ratio = {(r['case'][:9], r['version']): r['times_ours'] for r in rows}
    assert ratio['LIDC 128x', 'loop (jaccard_score)'] > 1000  # 100 samples
    assert ratio['LIDC 128x', 'broadcast'] > 20
    assert ratio['Cityscape', 'loop (confusion_matrix)'] > 200
    ours = [r for r in rows if r['version'] == 'ours']
    assert max(r['peak_mb'] for r in ours) < 200
