"""Wrong configs are refused, or warned of, by a word about the place."""

import copy

import pytest

from tests.test_config_check import bases
from tests.test_config_check.changes import (
    change,
    found_by_tool,
    found_by_walk,
    names,
)
from tests.test_config_check.wrong import WRONG

#: Rules that need more than a walk.
TRIED = ('read', 'build', 'preflight', 'wrong-step', 'best-score', '-')
TRIED += ('other-units', 'random-weights')
NAMED, TOLD = 0.85, 0.95  # shares that are refused, and at least warned of


@pytest.fixture(scope='module')
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp('wrong')
    return bases.small(folder / 'data')


def inherited(value):
    """A config as if it came from a ``mmseg::`` base."""
    if isinstance(value, dict):
        scope = {'_scope_': 'mmseg'} if 'type' in value else {}
        return {**{k: inherited(v) for k, v in value.items()}, **scope}
    return [*map(inherited, value)] if isinstance(value, list) else value


@pytest.mark.parametrize('base', [copy.deepcopy, inherited])
def test_what_a_walk_finds(base, small):
    """The same on top of a stock config, whose dicts have a scope."""
    cases = [c for c in WRONG if c.base == 'small()' and c.rule not in TRIED]
    assert len(cases) > 300
    missed = []
    for case in cases:
        found = found_by_walk(change(base(small), case.changes))
        if case.rule not in {f.rule for f in found if names(f, case.paths)}:
            missed.append(case)
    assert not missed, missed


def outcome(case, folder, cfg=None) -> str:
    """Whether a case is refused, warned of or missed by trying it."""
    if cfg is None:
        cfg = bases.build(case.base, folder)
    found = found_by_tool(change(cfg, case.in_folder(folder)), folder)
    named = any(names(finding, case.paths) for finding in found)
    refused = any(finding.sure for finding in found)
    return ('refused' if refused else 'told') if named else 'missed'


@pytest.mark.parametrize(
    'case',
    [c for c in WRONG if c.rule in ('build', 'preflight')][::16],
    ids=str,
)
def test_some_that_are_tried(case, tmp_path):
    assert outcome(case, tmp_path) == 'refused'


@pytest.mark.slow
@pytest.mark.parametrize('base', [copy.deepcopy, inherited])
def test_all(base, small, tmp_path):
    outcomes = []
    for index, case in enumerate(WRONG):
        folder = tmp_path / str(index)
        folder.mkdir()
        if case.base == 'small()':
            outcomes.append(outcome(case, folder, base(small)))
        elif base is copy.deepcopy:
            outcomes.append(outcome(case, folder))
    refused = outcomes.count('refused') / len(outcomes)
    told = outcomes.count('told') / len(outcomes)
    print(f'{len(outcomes)} cases: {refused:.1%} refused, {told:.1%} told')
    assert refused >= NAMED
    assert refused + told >= TOLD
