"""Wrong configs are refused, or warned of, by a word about the place."""

import copy

import pytest

from tests.test_config_check import bases
from tests.test_config_check.corpus import (
    HERE,
    changed,
    found_by_walk,
    inherited,
    named,
    outcome,
    read_corpus,
    try_all,
)

WRONG = read_corpus(HERE / 'wrong.jsonl')
#: Rules that need more than a walk.
TRIED = ('read', 'build', 'preflight', 'wrong-step', 'best-score', '-')
TRIED += ('other-units', 'random-weights')
NAMED, TOLD = 0.85, 0.95  # shares that are refused, and at least warned of


@pytest.mark.parametrize('base', [copy.deepcopy, inherited])
def test_what_a_walk_finds(base, tmp_path):
    """The same on top of a stock config, whose dicts have a scope."""
    small = base(bases.small(tmp_path))
    cases = [c for c in WRONG if c['base'] == 'small']
    cases = [case for case in cases if case['rule'] not in TRIED]
    assert len(cases) > 300
    missed = []
    for case in cases:
        found = found_by_walk(changed(small, case, tmp_path))
        if case['rule'] not in {f.rule for f in named(case, found)}:
            missed.append(case)
    assert not missed, missed


@pytest.mark.parametrize(
    'case', [c for c in WRONG if c['rule'] in ('build', 'preflight')][::32]
)
def test_some_that_are_tried(case, tmp_path):
    assert outcome(case, tmp_path) == 'refused'


@pytest.mark.slow
@pytest.mark.parametrize('on_mmseg', [False, True])
def test_all(on_mmseg):
    found = try_all(HERE / 'wrong.jsonl', on_mmseg)
    assert {*found} <= {'refused', 'told', 'missed'}
    assert found['refused'] >= NAMED * found.total()
    assert found['refused'] + found['told'] >= TOLD * found.total()
