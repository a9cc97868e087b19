from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from torch import Tensor

from mmcar.utils.type_check import fits, misfit, nearest


@pytest.mark.parametrize(
    ('value', 'hint'),
    [
        (3, int),
        (3, float),
        (0.5, float),
        (None, int | None),
        ([1, 2], Sequence[int]),
        ((1, 2), tuple[int, int]),
        ('a', str | Sequence[str]),
        ({1: 2}, Mapping[int, int]),
        ('x', object),
        ('x', str | Path),
    ],
)
def test_fits(value, hint):
    assert fits(value, hint)


@pytest.mark.parametrize(
    ('value', 'hint'),
    [
        ('3', int),
        (3.0, int),
        (True, int),
        (None, int),
        (1, str),
        ('ab', Sequence[str]),
        (['a'], Sequence[int]),
        ((1,), tuple[int, int]),
        ({'1': 2}, Mapping[int, int]),
        ([1], dict),
        (5, str | Path),
    ],
)
def test_does_not_fit(value, hint):
    assert not fits(value, hint)


def test_others_hints_are_not_taken_by_their_word():
    assert not fits(None, int, strict=False)
    assert fits(None, dict, strict=False)
    assert not fits(True, int, strict=False)
    assert fits(1, bool, strict=False)
    assert not fits(3, bool, strict=False)
    assert fits(3, Sequence[int], strict=False)
    assert fits([{}], dict, strict=False)
    assert not fits('often', int, strict=False)
    assert fits((1, 2, 3), tuple[int, int], strict=False)
    assert not fits(['late'], list[int], strict=False)
    assert not fits('1e-3', float | Tensor, strict=False)
    assert fits(512.0, str, strict=False)
    assert not fits(True, str, strict=False)


def test_nearest():
    assert nearest('shufle', ['seed', 'shuffle'], 0.8) == 'shuffle'
    assert nearest('val_cgf', ['val_cfg', 'model'], 0.9) == 'val_cfg'
    assert nearest('adam', ['model', 'train_cfg'], 0.8) is None


def test_the_wrong_element_is_named():
    assert misfit('phases', [{}, 'x'], Sequence[Mapping]) == (
        "phases[1]='x': expected Mapping, got str."
    )
    assert misfit('size', 'x', int).startswith("size='x': expected int")
