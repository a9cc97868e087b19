"""The ETA of phases that cost different amounts."""

import pytest

from mmcar.engine import Schedule
from mmcar.engine.hooks.phase_timer_hook import RemainingTime

F = dict(iters=1000, train=['calibration'])
G = dict(
    iters=300,
    train=['generator', 'discriminator'],
    cycles=dict(discriminator=(50, 50)),
)


def cost(iteration: int) -> float:
    """True seconds: F's iterations are cheap, G's dear, D's on top."""
    if iteration < 1000:
        return 0.05
    return 1.5 if (iteration - 1000) % 100 < 50 else 1.0


def true_seconds(iteration: int) -> float:
    return sum(cost(i) for i in range(iteration, 1300))


def test_with_a_preflight_the_first_phase_knows_of_the_second():
    left = RemainingTime(Schedule([F, G]))
    left.expect(0, 0.02)
    left.expect(1, 0.6)  # of D's iterations, on a smaller batch
    left.measure(0, 9.0)  # starts things up
    for i in range(1, 500):
        left.measure(i, cost(i))
    # 1.5 for each of G's, where half of them cost 1.0.
    assert left.seconds() == pytest.approx(500 * 0.05 + 300 * 1.5)
    naive = 0.05 * 800
    assert left.seconds() / naive > 10


def test_measured_kinds_are_exact():
    left = RemainingTime(Schedule([F, G]))
    for i in range(1160):
        left.measure(i, cost(i))
    assert left.seconds() == pytest.approx(true_seconds(1160))


def test_a_kind_not_seen_yet_costs_as_others_of_its_phase():
    left = RemainingTime(Schedule([F, G]))
    for i in range(1010):
        left.measure(i, cost(i))
    assert left.seconds() == pytest.approx(290 * 1.5)


def test_resumed_runs_count_what_is_left():
    left = RemainingTime(Schedule([F, G]), start=1200)
    assert left.seconds() == 0.0, 'nothing is known yet'
    left.measure(1200, 1.5)
    assert left.seconds() == pytest.approx(99 * 1.5)


def test_skipped_phases_cost_nothing():
    skipped = dict(F, iters=0)
    left = RemainingTime(Schedule([skipped, G]))
    left.measure(0, 2.0)
    assert left.seconds() == pytest.approx(299 * 2.0)
