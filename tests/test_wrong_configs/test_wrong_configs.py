"""Each wrong config ends in exit code 2 and a sentence that names the key."""

import pytest

from tests.test_wrong_configs import (
    bases,
    contradictions,
    corpus,
    fifth_set,
    fourth_set,
    held_out,
    sixth_set,
    third_set,
    unseen,
)
from tests.test_wrong_configs.running import change, outcome, right_config

CASES = [
    *corpus.UNKNOWN_KEYS,
    *corpus.UNKNOWN_TYPES,
    *corpus.MISSING,
    *corpus.WRONG_TYPES,
    *contradictions.WRONG_VALUES,
    *contradictions.TOGETHER,
    *contradictions.PATHS,
    *unseen.UNSEEN,
    *held_out.HELD_OUT,
    *third_set.THIRD_SET,
    *fourth_set.FOURTH_SET,
    *fifth_set.FIFTH_SET,
    *sixth_set.SIXTH_SET,
    *sixth_set.SIBLINGS,
]
# Without addresses of objects: parallel runs must agree on names.
NAMES = [
    f'{i}-{name.split(" at 0x")[0]}' for i, (name, _, _) in enumerate(CASES)
]


@pytest.fixture(scope='module')
def right(tmp_path_factory):
    folder = tmp_path_factory.mktemp('wrong_configs')
    return folder, right_config(folder / 'data')


def check(case, right, monkeypatch):
    name, changes, fragment = case
    folder, cfg = right
    code, text = outcome(folder, change(cfg, changes), monkeypatch)
    assert code == 2, f'{name}: {text}'
    assert fragment in text.splitlines()[-1], f'{name}: {text}'


def test_there_are_many():
    assert len(CASES) >= 200


def test_the_right_config_is_right(right, monkeypatch):
    folder, cfg = right
    code, text = outcome(folder, cfg, monkeypatch)
    assert code == 0, text


@pytest.mark.parametrize('case', CASES[::8], ids=NAMES[::8])
def test_some(case, right, monkeypatch):
    check(case, right, monkeypatch)


@pytest.mark.fault
@pytest.mark.parametrize('case', CASES, ids=NAMES)
def test_all(case, right, monkeypatch):
    check(case, right, monkeypatch)


@pytest.mark.fault
@pytest.mark.parametrize('case', sixth_set.OTHER_BASES, ids=str)
def test_on_other_bases(case, tmp_path, monkeypatch):
    base, changes, fragment, options = case
    cfg = getattr(bases, base)(tmp_path, **options)
    changes = {
        path: value.format(folder=tmp_path)
        if isinstance(value, str)
        else value
        for path, value in changes.items()
    }
    code, text = outcome(tmp_path, change(cfg, changes), monkeypatch)
    assert code == 2, text
    assert fragment in text.splitlines()[-1], text


@pytest.mark.fault
@pytest.mark.parametrize('base', ['quickstart', 'own_data', 'on_black_box'])
def test_other_bases_are_right(base, tmp_path, monkeypatch):
    cfg = getattr(bases, base)(tmp_path)
    code, text = outcome(tmp_path, cfg, monkeypatch)
    assert code == 0, text


@pytest.mark.parametrize(
    'change_of',
    [
        {'param_scheduler[0].milestones': [60000]},
        {'param_scheduler': [{**sixth_set.POLY, 'end': 160_000}]},
        {'train_cfg.val_begin': 1000},
    ],
    ids=str,
)
def test_a_trial_is_told_and_passes(change_of, right, monkeypatch):
    folder, cfg = right
    code, text = outcome(folder, change(cfg, change_of), monkeypatch)
    assert code == 0, text
    assert 'Mind ' in text
