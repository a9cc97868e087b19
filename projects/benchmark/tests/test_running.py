"""A whole task at a tiny size: run, interrupted, run again."""

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from mmengine.registry import init_default_scope

from mmcar.datasets import MultiAnnotatorWriter
from mmcar.engine import NetworkEMAHook
from tests.test_tools.project import ROOT

from ..benchmark import configs, training_data
from ..benchmark.methods import FEWER, METHODS, Setting
from ..benchmark.running import Benchmark
from ..benchmark.simulated_kidney import simulate_kidney
from ..benchmark.tasks import TASKS
from ..benchmark.training import locked

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
            labels[rng.integers(2, size=3) > 0, 10:14, 10:16] = 2
            labels[rng.integers(2, size=3) > 0, 16:20, 10:16] = 2
            image = simulate_kidney(labels, rng)
            writer.write(split, f'case{i:02d}_1', image, labels)
    for name in ('configs', 'projects'):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    for read in ('held_out', 'preload', 'max_class_area', 'fitted_field'):
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
    assert {'GED_100', 'NLL_smoothed'} <= {*final['scores']}
    assert final['sample_seconds'] > 0 and final['sample_mb'] > 0


def test_the_average_over_a_training_is_what_is_tested(
    kits, tmp_path, monkeypatch
):
    saved = {}
    save = NetworkEMAHook.before_save_checkpoint

    def spy(self, runner, checkpoint):
        raw = {k: v.clone() for k, v in checkpoint['state_dict'].items()}
        save(self, runner, checkpoint)
        saved.update(raw=raw, average=dict(checkpoint['state_dict']))

    monkeypatch.setattr(NetworkEMAHook, 'before_save_checkpoint', spy)
    bench = Benchmark(tmp_path / 'work', 0.5)
    setting = Setting('without D', 1e-2)
    found = bench.score(kits, 'recipe', setting, 0, 'tune')
    path = tmp_path / 'work' / found['trainings'][-1] / 'weights.pth'
    state = torch.load(path)['state_dict']
    assert all(torch.equal(state[k], v) for k, v in saved['average'].items())
    assert not all(torch.equal(state[k], v) for k, v in saved['raw'].items())


def test_a_training_that_changes_is_run_again(kits, tmp_path, monkeypatch):
    """Whatever changes, even if the sampler's own config does not."""
    bench = Benchmark(tmp_path / 'work', 0.2)
    first = bench.score(kits, 'training_free', FIELDS, 0, 'tune')
    usual = configs.data_config

    def larger_batches(task):
        cfg = usual(task)
        cfg.train_dataloader.batch_size = 4
        return cfg

    monkeypatch.setattr(configs, 'data_config', larger_batches)
    again = bench.score(kits, 'training_free', FIELDS, 0, 'tune')
    assert again['version'] != first['version']
    assert again['trainings'] != first['trainings']


def test_a_loss_that_is_not_finite_is_a_score_of_its_own(kits, tmp_path):
    bench = Benchmark(tmp_path / 'work', 0.5)
    wild = Setting('fields', 1e30)
    found = bench.score(kits, 'training_free', wild, 0, 'tune')
    assert math.isnan(found['scores']['GED_16'])
    assert 'not finite' in found['failed']
    # What shares the training knows that it failed.
    draw = Setting('with a draw', 1e30)
    other = bench.score(kits, 'views', draw, 0, 'tune')
    assert other['failed'] == found['failed']
    again = bench.score(kits, 'training_free', wild, 0, 'tune')
    assert again['version'] == found['version']


def test_a_part_of_the_images_is_divided_by_its_own_names(kits, tmp_path):
    config = tmp_path / 'half.py'
    config.write_text(
        f'_base_ = {str(kits.config)!r}\n'
        'train_dataloader = dict(dataset=dict(indices=[1, 3, 5, 7, 9]))\n'
    )
    half = replace(kits, data=str(config.with_suffix('')))
    assert half.config == config
    assert training_data.held_out(half) == ([1, 3, 5, 7], [9])


def test_fewer_samples_take_the_f_of_the_final_row(kits, tmp_path):
    bench = Benchmark(tmp_path / 'work', 0.2)
    usual = bench.score(kits, 'training_free', FIELDS, 0, 'final')
    for way in FEWER:
        found = bench.score(kits, way, FIELDS, 0, 'fewer')
        assert found['trainings'] == usual['trainings']
        assert found['scores']['GED_16'] != usual['scores']['GED_16']
        assert 'GED_100' not in found['scores']


@pytest.mark.parametrize('variant', METHODS['tuned'].variants)
def test_the_tuned_net_samples_as_f(kits, tmp_path, variant):
    bench = Benchmark(tmp_path / 'work', 0.2)
    found = bench.score(kits, 'tuned', Setting(variant, 1e-3), 0, 'tune')
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
