"""Handing a training on to another machine."""

import pytest
import torch

from mmcar.utils.errors import UserError
from mmcar.utils.files import write_json

from ..cpu_experiments.long_runs import LONG_RUNS
from ..cpu_experiments.long_states import (
    end,
    folder_of,
    hand_on,
    joined,
    take_over,
)
from ..cpu_experiments.running import Experiments
from .test_long_runs import write_parts

RUN = next(run for run in LONG_RUNS if run.key == 'camvid/long')


def write_checkpoint(folder, iteration):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f'iter_{iteration}.pth'
    parts = ('state_dict', 'optimizer', 'message_hub', 'meta')
    torch.save({**{key: {} for key in parts}, 'iter': iteration}, path)
    return path


def record_of(experiments):
    return {'config': experiments.training_version(RUN.group, RUN.name, 0)}


@pytest.fixture
def experiments(tmp_path, commands):
    return Experiments(tmp_path / 'work_dir')


def test_newest_checkpoint_reaches_another_work_dir(tmp_path, experiments):
    states = tmp_path / 'states'
    write_checkpoint(states / RUN.key, 100)
    own = folder_of(RUN, experiments)
    write_checkpoint(own, 200)
    newest = write_checkpoint(own, 300)
    hand_on(RUN, experiments, states)
    kept = list(states.rglob('*.pth'))
    assert [path.name for path in kept] == ['iter_300.pth']

    other = Experiments(tmp_path / 'other')
    take_over(RUN, other, states, record_of(other))
    taken = folder_of(RUN, other) / 'iter_300.pth'
    assert taken.read_bytes() == newest.read_bytes()


def test_a_work_dir_goes_on_from_its_own_checkpoint(tmp_path, experiments):
    states = tmp_path / 'states'
    write_checkpoint(states / RUN.key, 300)
    own = folder_of(RUN, experiments)
    write_checkpoint(own, 100)
    take_over(RUN, experiments, states, record_of(experiments))
    assert [path.name for path in own.glob('*.pth')] == ['iter_100.pth']


def test_nothing_to_hand_on_or_to_take_over(tmp_path, experiments):
    hand_on(RUN, experiments, tmp_path / 'states')
    take_over(RUN, experiments, tmp_path / 'states', {})
    assert not list(tmp_path.rglob('*.pth'))


def test_a_state_of_another_config_is_refused(tmp_path, experiments):
    states = tmp_path / 'states'
    write_checkpoint(states / RUN.key, 300)
    with pytest.raises(UserError, match=r'iter_300.*another version'):
        take_over(RUN, experiments, states, {'config': 'old'})
    assert not folder_of(RUN, experiments).exists()


def test_curves_are_joined():
    before = dict(iterations=[1, 2, 3], GED_16=[0.9, 0.8, 0.7], config='a')
    now = dict(iterations=[3, 4], GED_16=[0.6, 0.5], config='a', seed=0)
    assert joined(before, now) == dict(
        iterations=[1, 2, 3, 4],
        GED_16=[0.9, 0.8, 0.6, 0.5],
        config='a',
        seed=0,
    )
    assert joined({}, now) == now
    assert joined(dict(before, config='b'), now) == now


def test_a_flat_run_ends_at_its_newest_checkpoint(experiments):
    folder = folder_of(RUN, experiments)
    with pytest.raises(UserError, match=r'--end camvid/long: .* no scored'):
        end(RUN, experiments)
    newest = write_checkpoint(folder, 200)
    write_parts(folder)
    end(RUN, experiments)
    states = folder.parents[3] / 'states'
    write_checkpoint(states / RUN.key, 100)
    hand_on(RUN, experiments, states)
    assert not list(states.rglob('*.pth'))  # nobody is to go on with it
    version = experiments.training_version(RUN.group, RUN.name, 0)
    write_json(folder / 'version.json', dict(config=version, commit=None))
    assert experiments.train(RUN.group, RUN.name, 0) == newest
