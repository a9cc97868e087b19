"""The baselines that the benchmark compares with compute the same scores."""

import argparse
import importlib
from pathlib import Path

import pytest
import torch

FILE = Path(__file__).parents[2] / 'tools/analysis_tools/benchmark_metrics.py'


@pytest.fixture
def benchmark(monkeypatch):
    """The tool as a module that its own processes can import, too."""
    monkeypatch.syspath_prepend(FILE.parent)
    return importlib.import_module(FILE.stem)


def test_all_versions_agree(benchmark):
    for make, _, versions in benchmark.CASES.values():
        samples, labels = make(3)
        small = samples[..., ::8, ::8], labels[..., ::8, ::8]
        values = {
            name: version(*(m.contiguous() for m in small), 60.0)
            for name, version in versions.items()
        }
        for value, share in values.values():
            assert share == 1
            assert value == pytest.approx(values['ours'][0], abs=1e-9)


def test_a_loop_stops_at_its_limit(benchmark):
    maps = torch.zeros(2, 8, 8, dtype=torch.uint8)
    value, share = benchmark.loop_sklearn(maps, maps, 0.0)
    assert value != value and share < 1


@pytest.mark.slow
def test_ratios(benchmark):
    rows = benchmark.run(argparse.Namespace(loop_seconds=10))
    ratio = {(r['case'][:9], r['version']): r['times_ours'] for r in rows}
    assert ratio['LIDC 128x', 'loop (jaccard_score)'] > 1000  # 100 samples
    assert ratio['LIDC 128x', 'broadcast'] > 20
    assert ratio['Cityscape', 'loop (confusion_matrix)'] > 200
    ours = [r for r in rows if r['version'] == 'ours']
    assert max(r['peak_mb'] for r in ours) < 200
