import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcar.engine import Schedule

NAMES = ('calibration', 'generator', 'discriminator')


@st.composite
def phase_lists(draw):
    phases = []
    for _ in range(draw(st.integers(1, 4))):
        train = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
        cycles = draw(
            st.dictionaries(
                st.sampled_from(train),
                st.tuples(st.integers(1, 5), st.integers(0, 5)),
            )
        )
        iters = draw(st.integers(0, 20))
        phases.append(dict(iters=iters, train=train, cycles=cycles))
    return phases


def simulate(phases):
    """The set of training networks at each iteration, by walking through."""
    steps = []
    for phase in phases:
        state = {
            name: ['on'] * phase['cycles'].get(name, (1, 0))[0]
            + ['off'] * phase['cycles'].get(name, (1, 0))[1]
            for name in phase['train']
        }
        for _ in range(phase['iters']):
            steps.append({n for n, wheel in state.items() if wheel[0] == 'on'})
            for wheel in state.values():
                wheel.append(wheel.pop(0))
    return steps


@settings(max_examples=40)
@given(phase_lists())
def test_equals_a_walk_through_the_phases(phases):
    schedule = Schedule(phases)
    steps = simulate(phases)
    assert schedule.max_iters == len(steps)
    for iteration, expected in enumerate(steps):
        assert set(schedule.active(iteration)) == expected
    assert schedule.active(len(steps)) == ()
    for name in NAMES:
        for iteration in range(len(steps) + 3):
            expected = sum(name in step for step in steps[:iteration])
            assert schedule.num_updates(name, iteration) == expected
        if any(name in step for step in steps):
            turns = [i for i, step in enumerate(steps) if name in step]
            begin, end = schedule.span(name)
            assert begin == turns[0] and turns[-1] < end <= len(steps)


GOOD = dict(iters=3, train=['generator'])


BAD = [
    (dict(iters=-1, train=['a']), r'\.iters=-1'),
    (dict(train=['a']), r'\.iters=None'),
    (dict(iters=1), r'\.train'),
    (dict(iters=1, train=['a', 'a']), r"\.train.*'a'"),
    (dict(iters=1, train=['a'], lr=3), r'\.lr'),
    (dict(iters=1, train=['a'], cycles=dict(b=(1, 1))), r"\.cycles\['b'\]"),
    (dict(iters=1, train=['a'], cycles=dict(a=(0, 1))), r"'a'\]=\(0, 1\)"),
    (dict(iters=1, train=['a'], cycles=dict(a=5)), r"\.cycles\['a'\]=5"),
]


def test_refuses_bad_phases():
    for bad, message in BAD:
        with pytest.raises(ValueError, match=rf'phases\[1\].*{message}'):
            Schedule([GOOD, bad])
    with pytest.raises(ValueError, match=r"phases\[0\].train.*'generator'"):
        Schedule([GOOD]).validate(['calibration'])
    with pytest.raises(ValueError, match='phases is empty'):
        Schedule([])
