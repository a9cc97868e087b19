"""Nothing that is surely wrong is accepted, whatever setting it is in."""

import random

import pytest
from mmengine.config import Config

from mmcar.apis.config_check import check_config
from mmcar.utils.errors import UserError
from tests.test_wrong_configs.mutations import mutations
from tests.test_wrong_configs.running import outcome, right_config

LEFT_TO_THE_REHEARSAL = 0.1  # share that only building or trying can find


@pytest.fixture(scope='module')
def right(tmp_path_factory):
    folder = tmp_path_factory.mktemp('mutations')
    return folder, right_config(folder / 'data')


def found_unbuilt(cfg: dict) -> bool:
    """Whether the check alone refuses a config; it never stumbles."""
    try:
        check_config(Config(cfg))
    except UserError:
        return True
    return False


def chosen(cfg: dict, number: int) -> list:
    return random.Random(0).sample(list(mutations(cfg)), number)


def test_most_are_found_before_anything_is_built(right):
    _, cfg = right
    cases = chosen(cfg, 150)
    passed = [name for name, _, wrong in cases if not found_unbuilt(wrong)]
    assert len(passed) < LEFT_TO_THE_REHEARSAL * len(cases), passed


@pytest.mark.fault
def test_all_others_are_found_by_trying(right, monkeypatch):
    folder, cfg = right
    monkeypatch.chdir(folder)
    cases = list(mutations(cfg))
    assert len(cases) > 500
    left = [case for case in cases if not found_unbuilt(case[2])]
    unnamed, accepted = [], []
    for name, place, wrong in left:
        code, text = outcome(folder, wrong, monkeypatch)
        assert code in (0, 2), f'{name}: {text}'
        key = next(str(k) for k in reversed(place) if isinstance(k, str))
        if code == 0:
            accepted.append(name)
        elif key not in text.splitlines()[-1]:
            unnamed.append(name)
    assert not accepted
    assert len(unnamed) < 0.05 * len(cases), unnamed
