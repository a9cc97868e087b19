"""What the benchmarks compare does the same work, and the page holds it."""

import argparse
import importlib
import json
from pathlib import Path

import pytest
import torch

FOLDER = Path(__file__).parents[2] / 'tools/analysis_tools'


@pytest.fixture
def load(monkeypatch):
    """Import a module of the tool."""
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module


def test_times_are_compared_in_turns(load):
    calls = []
    versions = {
        name: lambda name=name: calls.append(name) for name in ('a', 'b')
    }
    rows = load('benchmark_timing').compare('nothing', versions, 2)
    assert calls == ['a', 'b'] * 3
    assert [row['version'] for row in rows] == ['a', 'b']
    assert rows[0]['times_ours'] == 1


def test_the_serial_network_has_the_published_size(load):
    network = load('benchmark_sampling').SerialUNet(2)
    assert sum(p.numel() for p in network.parameters()) == pytest.approx(
        620_000, rel=0.05
    )


def test_sampling_and_memory_have_a_row_per_version(load):
    options = argparse.Namespace(repeats=1, shrink=4)
    with torch.no_grad():
        rows = load('benchmark_sampling').run(options)
    assert len(rows) == 2 * 3 + 2 * 2
    assert all(row['seconds'] > 0 for row in rows)
    rows = load('benchmark_memory').run(options)
    assert [row['version'] for row in rows].count('ours') == 2
    maps_mb = 16 * 256 * 512 / 2**20
    ours, probabilities, fields = (row['peak_mb'] for row in rows)
    assert maps_mb < ours < probabilities
    assert fields > maps_mb


def test_training_versions_make_steps(load):
    options = argparse.Namespace(repeats=1, side=32)
    rows = load('benchmark_training').run(options)
    assert [row['version'] for row in rows] == ['ours', 'loop over samples']


def test_the_page_and_the_file_hold_all_rows(load, monkeypatch, tmp_path):
    tool = load('benchmark')
    rows = [dict(case='c', version='v', seconds=0.12345, times_ours=1.0)]
    for module in tool.SUBCOMMANDS.values():
        monkeypatch.setattr(module, 'run', lambda args: rows)
    page, file = tmp_path / 'page.md', tmp_path / 'rows.json'
    arguments = ['benchmark.py', 'all', '--out', str(page)]
    monkeypatch.setattr('sys.argv', [*arguments, '--json', str(file)])
    threads = torch.get_num_threads()
    tool.main()
    torch.set_num_threads(threads)
    assert page.read_text().count('| c | v | 0.123 | 1 |') == 5
    written = json.loads(file.read_text())
    assert written['tables']['sampling'] == rows
    assert written['machine']['torch'] == torch.__version__
