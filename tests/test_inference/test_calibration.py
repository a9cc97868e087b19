"""Halves to fit and to report on."""

import hashlib
import random

import pytest

from mmcar.inference.calibration import split_halves
from mmcar.utils.errors import UserError

KEYS = [f'image_{i}' for i in range(11)]


def test_half_of_the_images_by_their_hash():
    fit, report = split_halves(KEYS)
    by_hash = sorted(
        KEYS, key=lambda key: hashlib.sha256(key.encode()).hexdigest()
    )
    assert {KEYS[i] for i in fit} == set(by_hash[:5])
    assert {KEYS[i] for i in report} == set(by_hash[5:])


def test_all_images_of_a_patient_are_in_the_same_half():
    units = ['a'] * 3 + ['b'] * 2 + KEYS[:2] + ['c'] * 3 + ['d']
    fit, report = split_halves(units)
    assert sorted(fit + report) == list(range(11))
    assert not {units[i] for i in fit} & {units[i] for i in report}
    assert abs(len(fit) - len(report)) <= 3
    order = list(range(11))
    random.Random(0).shuffle(order)
    again, _ = split_halves([units[i] for i in order])
    assert {order[i] for i in again} == set(fit)


def test_a_large_patient_leaves_something_to_the_other_half():
    for name in 'abcdef':
        fit, report = split_halves([name] * 10 + ['other'])
        assert sorted((len(fit), len(report))) == [1, 10]


def test_one_patient_cannot_be_split():
    with pytest.raises(UserError, match='11 validation images'):
        split_halves(['a'] * 11)
    with pytest.raises(UserError, match='1 validation images'):
        split_halves(KEYS[:1])
