"""Work of another version of a config is never taken for that of today."""

import json

import pytest
import torch

from mmcar.utils.errors import UserError

from ..cpu_experiments.running import Experiments
from ..cpu_experiments.suite import Row
from ..cpu_experiments.versions import claim, config_hash

ROW = Row('bubil', 'recipe', 'recipe', '', 1)
OPTION = ['train_cfg.val_interval=9']


def hash_of(folder, text, *options, keys=('model',), sources=()):
    path = folder / f'{abs(hash(text))}.py'
    path.write_text(text)
    return config_hash(path, options, keys, sources)


def test_hash_is_of_what_a_config_says(tmp_path):
    """Not of how it says it."""
    first = hash_of(tmp_path, 'model = dict(a=1, b=(2, 3))')
    assert first == hash_of(
        tmp_path, '# a comment\nx = 1\nmodel = dict(b=(2, 3), a=x)'
    )
    assert first == hash_of(
        tmp_path, 'model = dict(a=0, b=(2, 3))', 'model.a=1'
    )
    others = [
        hash_of(tmp_path, 'model = dict(a=2, b=(2, 3))'),
        hash_of(tmp_path, 'model = dict(a=1, b=(2, 3))', 'model.b=4'),
        hash_of(tmp_path, 'model = dict(a=1, b=(2, 3))', sources=['f']),
    ]
    assert len({first, *others}) == 4


def test_another_config_is_refused(commands, tmp_path):
    Experiments(tmp_path).test(ROW, 0)
    done = len(commands)
    changed = Experiments(tmp_path, OPTION)
    with pytest.raises(UserError, match=r'move the folder away.*--keep-old'):
        changed.test(ROW, 0)
    assert len(commands) == done
    Experiments(tmp_path, OPTION, keep_old=True).test(ROW, 0)
    assert len(commands) == done


def test_another_f_makes_another_g(commands, tmp_path, monkeypatch):
    """G's own config is the same, but not the F that it takes over."""
    Experiments(tmp_path).test(ROW, 0)
    version = Experiments.training_version

    def changed(suite, group, name, seed):
        if name == 'calibration':
            return 'another F'
        return version(suite, group, name, seed)

    monkeypatch.setattr(Experiments, 'training_version', changed)
    with pytest.raises(UserError, match=r'recipe/seed0 belongs to another'):
        Experiments(tmp_path).test(ROW, 0)


def test_options_that_do_not_fit(commands, tmp_path):
    wrong = ['optim_wrapper.discriminator.optimizer.lr=1']
    with pytest.raises(UserError, match='does not take the options'):
        Experiments(tmp_path, wrong).test(ROW, 0)
    assert commands == []


def test_another_test_is_refused_and_its_training_kept(commands, tmp_path):
    Experiments(tmp_path).test(ROW, 0)
    other = Experiments(tmp_path, (), ['model.test_cfg.num_samples=4'])
    with pytest.raises(UserError, match='test_normal belongs to another'):
        other.test(ROW, 0)
    folder = tmp_path / 'bubil' / 'recipe' / 'seed0' / 'test_normal'
    folder.rename(tmp_path / 'away')
    other.test(ROW, 0)
    assert [command[1] for command in commands] == [
        'tools/train.py',
        'tools/train.py',
        'tools/test.py',
        'tools/test.py',
    ]


def test_folders_from_before_versions_are_refused(commands, tmp_path):
    suite = Experiments(tmp_path)
    suite.test(ROW, 0)
    for path in tmp_path.rglob('version.json'):
        path.unlink()
    with pytest.raises(UserError, match='not recorded'):
        suite.test(ROW, 0)
    Experiments(tmp_path, keep_old=True).test(ROW, 0)


def test_an_interrupted_training_does_not_go_on_with_another_config(tmp_path):
    claim(tmp_path, 'a', 'abc', finished=False, keep_old=False)
    record = json.loads((tmp_path / 'version.json').read_text())
    assert record == dict(config='a', commit='abc')
    # Nothing was trained yet, so nothing is lost.
    claim(tmp_path, 'b', None, finished=False, keep_old=False)
    torch.save({}, tmp_path / 'iter_1.pth')
    claim(tmp_path, 'b', None, finished=False, keep_old=False)
    for keep_old in (False, True):
        with pytest.raises(UserError, match='move the folder') as error:
            claim(tmp_path, 'c', None, finished=False, keep_old=keep_old)
        assert '--keep-old' not in str(error.value)
