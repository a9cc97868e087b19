"""What the benchmarks compare does the same work, and the page holds it."""

import argparse
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from mmengine.config import Config

from .. import speed
from ..speed import (
    baseline,
    costs,
    runs,
    sampling,
    scaling,
    testing,
    timing,
    training,
)
from ..speed.bars import bar_rows

FOLDER = Path(__file__).parents[1]


@pytest.fixture
def tool(monkeypatch):
    """The command as a module."""
    monkeypatch.setitem(sys.modules, 'speed', speed)
    return importlib.import_module('projects.speed.run')


def test_times_are_compared_in_turns():
    calls = []
    versions = {
        name: lambda name=name: calls.append(name) for name in ('a', 'b')
    }
    rows = timing.compare('nothing', versions, 2)
    assert calls == ['a', 'b'] * 3
    assert [row['version'] for row in rows] == ['a', 'b']
    assert rows[0]['times_ours'] == 1


def test_the_serial_network_has_the_published_size():
    network = sampling.SerialUNet(2)
    assert sum(p.numel() for p in network.parameters()) == pytest.approx(
        620_000, rel=0.05
    )


@pytest.fixture
def uncompiled(monkeypatch):
    """Compiling takes a minute; a slow test of its own does it."""
    monkeypatch.setattr(torch, 'compile', lambda function: function)


def test_sampling_has_a_row_per_version(uncompiled):
    options = argparse.Namespace(repeats=1, shrink=4)
    with torch.no_grad():
        rows = sampling.run(options)
    assert len(rows) == 2 * 4 + 2 * 3 + 1
    assert all(row['seconds'] > 0 for row in rows)


def test_memory_is_bounded_by_input_and_label_maps(tmp_path):
    # In a process of its own: the memory that tests have left in pieces
    # counts. At a quarter of this size that of libraries decides.
    file = tmp_path / 'rows.json'
    options = ['memory', '--shrink', '2', '--json', str(file)]
    subprocess.run([sys.executable, FOLDER / 'run.py', *options], check=True)
    rows = json.loads(file.read_text())['tables']['memory']
    drawn, warm, steps = rows[:5], rows[5], rows[6:]
    assert [row['version'] for row in drawn].count('ours') == 2
    for row in drawn:
        allowed = 1.2 * row['input_mb'] + row['maps_mb']
        assert row['peak_mb'] > row['maps_mb'] == 8
        plain = row['version'].startswith('probabilities')
        assert (row['peak_mb'] > allowed) == plain, row
    assert 'at temperature' in warm['case']
    assert warm['peak_mb'] < 2.2 * warm['input_mb'] + warm['maps_mb']
    few, many, at_once = (row['peak_mb'] for row in steps)
    assert many < 1.2 * few
    assert at_once > 2 * many  # the measure sees what it should


def test_training_versions_make_steps(uncompiled):
    options = argparse.Namespace(repeats=1, side=32)
    rows = training.run(options)
    assert [row['version'] for row in rows].count('ours') == 3
    assert len(rows) == 4 + 3 + 3 + 3 * 2
    assert [row['version'] for row in rows].count('ours, compiled') == 2


def test_parts_of_whole_runs_add_up():
    options = argparse.Namespace(iters=2, images=1, shrink=4, repeats=1)
    rows = runs.run(options)
    parts = runs.PARTS
    assert len(rows) == 2 + 2 + 5
    assert sum(' of 128x256,' in row['case'] for row in rows) == 1
    for row in rows:
        assert sum(row[part] for part in parts) == pytest.approx(1)
        assert row['networks'] > 0  # the rest is a difference of noisy times
        tested = row['case'].startswith('test')
        assert (row['metrics'] > 0) == (row['writing'] > 0) == tested
    bars = bar_rows(dict(runs=rows))
    trained = [b['measured'] for b in bars if b['goal'].startswith('training')]
    assert trained == [row['rest'] for row in rows[:4]]


def test_the_turn_with_the_median_share_is_shown(monkeypatch):
    shares = iter([0.9, 0.5, 0.8])
    rest = dict.fromkeys(runs.PARTS, 0.0)
    monkeypatch.setattr(
        runs,
        'turn',
        lambda args: [
            dict(case='c', seconds=1.0) | rest | dict(networks=next(shares))
        ],
    )
    (row,) = runs.run(argparse.Namespace(repeats=3))
    assert row['networks'] == 0.8


def test_another_checkout_is_asked_for_the_same_work(monkeypatch):
    monkeypatch.setattr(baseline, 'DRAWN', {'recipe': 'recipe'})
    monkeypatch.setattr(baseline, 'STEPS', {('recipe', 1, 2): 'step'})
    here = argparse.Namespace(
        baseline=baseline.ROOT, checkpoint=None, repeats=1
    )
    drawn, step = baseline.run(here)
    assert drawn['same_pixels'] == 1
    assert step['ours'] > 0 and step['other'] > 0


def test_a_checkout_that_fails_is_named(tmp_path):
    (tmp_path / 'mmcar').mkdir()
    (tmp_path / 'mmcar/__init__.py').write_text('')
    with (
        pytest.raises(RuntimeError, match=str(tmp_path)),
        baseline.Checkout(tmp_path) as checkout,
    ):
        checkout.do('draw', 'lidc', str(tmp_path / 'x.npy'))


def test_exponents_and_ranks_in_turns(monkeypatch):
    row = scaling.row('squares', [1, 2, 4], [3.0, 12.0, 48.0])
    assert row['exponent'] == pytest.approx(2)
    asked, times = [], iter([1.0, 1.0, 9.0, 2.0, 1.0, 9.0])

    def seconds(ranks, steps, side):
        asked.append(ranks)
        own = next(times)
        return [own, own + ranks]  # what was waited for is on the clock

    monkeypatch.setattr(scaling, 'rank_seconds', seconds)
    row, clock = scaling.rank_rows(3, 64)
    assert asked == [1, 2] * 3
    assert row['seconds'] == [1, 2] and row['exponent'] == pytest.approx(1)
    assert clock['seconds'] == [2, 4]


def test_bars_say_what_holds_and_what_bounds_it():
    tables = dict(
        sampling=[
            dict(case='LIDC', version='plain, chunks of 8', times_ours=3.0),
            dict(case='LIDC', version='serial', times_ours=1.1),
        ],
        test=[dict(case='1024x2048', part='all', seconds=1.5)],
    )
    rows = {row['goal']: row for row in bar_rows(tables)}
    assert rows['LIDC 128x128: over plain sampling']['met'] == 'yes'
    compiled = rows['LIDC, compile allowed: over plain']
    assert compiled['met'] == 'no' and compiled['what bounds it']
    large = 'metrics 1024x2048, 19 classes, 16 samples: seconds'
    assert rows[large]['met'] == 'no' and rows[large]['measured'] == 1.5
    assert rows["LIDC: over the authors' way"]['met'] == 'no'
    assert len(rows) == 5


def test_bars_of_memory_leave_label_maps_out():
    case = 'training-free 1024x2048, 19 classes, '
    sizes = dict(version='whole prediction', input_mb=100, maps_mb=30)
    step = 'step of G, 128x128, batch 1'
    memory = [
        dict(case=case + 'one number per class', peak_mb=140, **sizes),
        dict(case=case + 'fields', peak_mb=180, **sizes),
        dict(case=step, version='M = 4, chunks of 4', peak_mb=50),
        dict(case=step, version='M = 20, chunks of 4', peak_mb=55),
    ]
    rows = bar_rows(dict(memory=memory))
    assert [row['measured'] for row in rows] == pytest.approx(
        [140, 1.1, 1.5, 1.1]
    )
    assert [row['met'] for row in rows] == ['yes', 'yes', 'no', 'yes']


def test_test_has_a_row_per_metric():
    options = argparse.Namespace(repeats=1, shrink=8)
    rows = testing.run(options)
    for case in {row['case'] for row in rows}:
        own = {r['part']: r['seconds'] for r in rows if r['case'] == case}
        own.pop('F and G, for comparison', None)
        total = own.pop('all')
        assert total == pytest.approx(sum(own.values()))
        assert len(own) == 4


def test_costs_are_those_of_the_layers():
    path = costs.CONFIGS / 'car_lidc.py'
    rows, config = costs.phase_rows('LIDC', path), Config.fromfile(path)
    one, four = rows[0], rows[1]
    assert (one['gpus'], four['gpus']) == (1, 4)
    assert one['hours'] == pytest.approx(4 * four['hours'])
    assert one['activations_gb'] == pytest.approx(4 * four['activations_gb'])
    assert one['sent_mb'] == 0
    # A batch of one image keeps its share; weights are no activations.
    sizes = costs.training_memory.measure(config, 32, 20)
    for row, name in ((one, 'calibration'), (rows[3], 'generator')):
        expected = pytest.approx(sizes[name] / 1024, rel=0.05)
        assert row['activations_gb'] == expected
    model, _ = costs.build(costs.CONFIGS / 'car_lidc.py')
    weights = sum(
        p.numel() for p in model.networks()['calibration'].parameters()
    )
    assert four['sent_mb'] == pytest.approx(1.5 * 4 * weights / 2**20)
    # A convolution's backward pass takes twice its forward pass.
    inputs, _ = costs.one_image(model)
    with torch.no_grad(), costs.FlopCounterMode(display=False) as counter:
        model.networks()['calibration'](inputs)
    forward = 32 * counter.get_total_flops() / 1e12
    assert 2.5 < one['tflop_per_iteration'] / forward < 3.01


@pytest.mark.parametrize('images', [True, False])
def test_the_page_and_the_file_hold_all_rows(
    tool, monkeypatch, tmp_path, images
):
    monkeypatch.chdir(tmp_path)
    if images:
        (tmp_path / 'data/lidc_shapes').mkdir(parents=True)
    rows = [dict(case='c', version='v', seconds=0.12345, times_ours=1.0)]
    monkeypatch.setattr(tool, 'run_apart', lambda name, args: rows)
    page, file = tmp_path / 'page.md', tmp_path / 'rows.json'
    arguments = ['run.py', 'all', '--out', str(page)]
    monkeypatch.setattr('sys.argv', [*arguments, '--json', str(file)])
    threads = torch.get_num_threads()
    tool.main()
    torch.set_num_threads(threads)
    assert page.read_text().count('| c | v | 0.123 | 1 |') == 8 + images
    written = json.loads(file.read_text())
    assert written['tables']['sampling'] == rows
    assert written['bars'] == []
    facts = written['machine']
    assert facts['torch'] == torch.__version__
    assert ('data' in written['tables']) == images
    known = {'numpy', 'mmcv', 'mmseg', 'cores', 'date', 'commit'}
    assert known <= facts.keys()
    head = page.read_text().split('##')[0]
    assert facts['commit'] in head and 'earlier version' not in head


@pytest.mark.parametrize(
    ('command', 'kept'),
    [('sampling', True), ('training', True), ('memory', False)],
)
def test_times_are_those_of_the_tools(tool, monkeypatch, command, kept):
    """Which keep freed memory: without, pages are zeroed again and again."""
    calls = []
    monkeypatch.setattr(
        tool, 'keep_freed_memory', lambda: calls.append('keep')
    )
    monkeypatch.setattr(
        tool.SUBCOMMANDS[command], 'run', lambda args: calls.append('run')
    )
    monkeypatch.setattr('sys.argv', ['run.py', command])
    threads = torch.get_num_threads()
    tool.main()
    torch.set_num_threads(threads)
    assert calls == (['keep', 'run'] if kept else ['run'])
