"""A whole task at a tiny size: run, interrupted, run again."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from mmengine.registry import init_default_scope

from mmcar.datasets.converters.writing import MultiAnnotatorWriter
from tests.test_tools.project import ROOT

from ..benchmark import training_data
from ..benchmark.methods import Setting
from ..benchmark.running import Benchmark, locked
from ..benchmark.simulated_kidney import simulate_kidney
from ..benchmark.tasks import TASKS

FIELDS = Setting('fields', 1e-3)
DRAW = Setting('with a draw', 1e-3)


@pytest.fixture
def kits(tmp_path, monkeypatch):
    """A data set of few slices, in place of KiTS."""
    writer = MultiAnnotatorWriter(tmp_path / 'data' / 'kits_simulated')
    rng = np.random.default_rng(0)
    for split, number in (('train', 10), ('val', 2)):
        for i in range(number):
            labels = np.zeros((3, 32, 32), np.uint8)
            labels[:, 8:24, 8:24] = 1
            labels[rng.integers(3), 10:14, 10:16] = 2
            image = simulate_kidney(labels, rng)
            writer.write(split, f'case{i:02d}_1', image, labels)
    for name in ('configs', 'projects'):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    for read in ('held_out', 'preload', 'largest_shares', 'fitted_field'):
        getattr(training_data, read).cache_clear()
    init_default_scope('mmseg')
    return TASKS['kits']


def test_a_run_is_scored_once_and_known_again(kits, tmp_path):
    bench = Benchmark(tmp_path / 'work', 0.2, 'abc')
    first = bench.score(kits, 'training_free', FIELDS, 0, 'tune')
    assert first['commit'] == 'abc' and first['train_seconds'] >= 0.2
    assert 0 <= first['scores']['GED_16'] < 2
    assert 'flood_rate_16' in first['scores']
    before, after = first['logged'][0]['loss_ce']
    assert before > 0 and after > 0
    again = Benchmark(tmp_path / 'work', 0.2, 'def')
    assert again.score(kits, 'training_free', FIELDS, 0, 'tune') == first
    # Elsewhere, what stands in the project's record is not run again.
    moved = Benchmark(tmp_path / 'elsewhere', 0.2, 'ghi', [first])
    assert moved.score(kits, 'training_free', FIELDS, 0, 'tune') == first
    assert not list((tmp_path / 'elsewhere').rglob('*.pth'))
    longer = Benchmark(tmp_path / 'elsewhere', 0.4, 'ghi', [first])
    assert longer.score(kits, 'training_free', FIELDS, 0, 'tune') != first
    # The same F, another draw: no second training.
    other = again.score(kits, 'views', DRAW, 0, 'tune')
    assert other['trainings'] == first['trainings']
    folder = tmp_path / 'work' / first['trainings'][0]
    assert json.loads((folder / 'config.json').read_text())['model']
    final = again.score(kits, 'training_free', FIELDS, 1, 'final')
    assert final['trainings'] != first['trainings']
    assert 'GED_100' in final['scores'] and final['sample_seconds'] > 0


def test_a_part_of_the_images_is_divided_by_its_own_names(kits, tmp_path):
    config = tmp_path / 'half.py'
    config.write_text(
        f'_base_ = {str(kits.config)!r}\n'
        'train_dataloader = dict(dataset=dict(indices=[1, 3, 5, 7, 9]))\n'
    )
    half = replace(kits, data=str(config.with_suffix('')))
    assert half.config == config
    assert training_data.held_out(half) == ([1, 3, 5, 7], [9])


def test_the_tuned_net_samples_as_f(kits, tmp_path):
    bench = Benchmark(tmp_path / 'work', 0.2)
    found = bench.score(kits, 'tuned', FIELDS, 0, 'tune')
    assert len(found['trainings']) == 2


@pytest.mark.parametrize(
    ('method', 'variant'),
    [('training_free', 'regions'), ('learnt', 'energy loss')],
)
def test_an_f_that_is_given_is_not_trained(kits, tmp_path, method, variant):
    control = TASKS['kits_control']
    bench = Benchmark(tmp_path / 'work', 0.2)
    setting = Setting(variant, 1e-3)
    found = bench.score(control, method, setting, 0, 'final')
    assert len(found['trainings']) == (method == 'learnt')
    # The annotators' mean knows more than any net could learn in 0.2 s.
    assert found['scores']['GED_16'] < 0.3
    bound = bench.bound(control)
    assert bound == bench.bound(control)
    assert bound['scores']['GED_100'] < 0.1


def test_another_process_is_not_waited_for(tmp_path):
    with locked(tmp_path) as free:
        assert free
        with locked(tmp_path, wait=False) as second:
            assert not second
    assert sys.platform != 'win32'
