"""Divisions of patients, and losses that are kept in a file."""

import numpy as np
import pytest
import torch

from mmcar.evaluation.functional.promises import Steps
from projects.lidc.promises import (
    ROWS,
    divisions,
    fit_and_try,
    print_divisions,
    unpack,
)

PATIENTS = [f'p{i // 3}' for i in range(120)]


def test_patients_are_divided_not_slices():
    found = list(divisions(PATIENTS, 3, seed=0))
    for fit, held in found:
        owners = [{PATIENTS[i] for i in half} for half in (fit, held)]
        assert not owners[0] & owners[1]
        assert len(owners[0]) == len(owners[1]) == 20
        assert sorted(fit + held) == list(range(120))
    assert found[0] != found[1]
    assert found == list(divisions(PATIENTS, 3, seed=0))


def steps(level, height=1.0):
    return Steps(
        torch.tensor([level]).double(), torch.tensor([height]).double()
    )


def test_promises_hold_on_the_other_half(capsys):
    """Levels of all slices are drawn alike, half of the readers mark."""
    random = np.random.default_rng(0)
    images = []
    for level in random.uniform(0, 1, 120):
        same = dict.fromkeys(
            ('inner_region', 'samples', 'best_iou', 'area'), steps(level)
        )
        same['region'] = steps(level, 0.5)
        same['region_if_marked'] = steps(level)
        images.append(same)
    levels, held = fit_and_try(
        images, PATIENTS, [*range(60)], [*range(60, 120)], 0.2
    )
    # Half of what is missed may be: 0.2 of all is 0.4 of the marks.
    assert levels['region'] < levels['region_of_marks'] < 1
    assert held['region_if_marked']['held'] < 0.8
    for name in ('region', 'region_of_marks', 'area', 'hypotheses'):
        assert held[name]['held'] == pytest.approx(0.8, abs=0.15)
    print_divisions([held, held], held)
    *_, area = capsys.readouterr().out.splitlines()
    share = f'{100 * held["area"]["held"]:.1f}'
    assert f'| {ROWS["area"]} | 2 | {share} % | {share} to {share} |' in area


def test_losses_come_back():
    arrays = dict(
        a_number=np.array([2, 0]),
        a_levels=np.array([0.1, 0.2]),
        a_heights=np.array([0.5, 0.25]),
        b_number=np.array([1, 1]),
        b_levels=np.array([1.0, 2.0]),
        b_heights=np.array([1.0, 1.0]),
        rows=np.zeros((2, 4)),
    )
    first, second = unpack(arrays)
    assert first['a'].loss(0.1) == 0.25
    assert not len(second['a'].levels)
    assert second['b'].levels.tolist() == [2.0]
