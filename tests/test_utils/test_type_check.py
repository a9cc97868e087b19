from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor

from mmcar.utils.type_check import fits, misfit

RIGHT = [
    *((3, int), (3, float), (None, int | None), ([1, 2], Sequence[int])),
    *(((1, 2), tuple[int, int]), ('a', str | Sequence[str])),
    *(({1: 2}, Mapping[int, int]), ('x', object), ('x', str | Path)),
]
WRONG = [
    *(('3', int), (3.0, int), (True, int), (None, int), (1, str)),
    *(('ab', Sequence[str]), (['a'], Sequence[int]), ((1,), tuple[int, int])),
    *(({'1': 2}, Mapping[int, int]), ([1], dict), (5, str | Path)),
]
#: Where others' hints are not taken by their word.
EXCUSED = [
    *((None, dict), (1, bool), (3, Sequence[int]), ([{}], dict)),
    *(((1, 2, 3), tuple[int, int]), (512.0, str)),
]
NOT_EXCUSED = [
    *((None, int), (True, int), (3, bool), ('often', int)),
    *((['late'], list[int]), ('1e-3', float | Tensor), (True, str)),
]


def test_fits():
    for value, hint in RIGHT:
        assert fits(value, hint), (value, hint)
    for value, hint in WRONG:
        assert not fits(value, hint), (value, hint)


def test_others_hints_are_not_taken_by_their_word():
    for value, hint in EXCUSED:
        assert fits(value, hint, strict=False), (value, hint)
    for value, hint in NOT_EXCUSED:
        assert not fits(value, hint, strict=False), (value, hint)


def test_the_wrong_element_is_named():
    text = misfit('phases', [{}, 'x'], Sequence[Mapping[str, int]])
    assert text == "phases[1]='x': expected Mapping[str, int], got str."
