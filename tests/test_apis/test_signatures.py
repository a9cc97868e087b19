from collections.abc import Mapping, Sequence

import pytest

from mmcar.apis.signatures import arguments_of, default_of, fits, nearest


class Base:
    def __init__(self, size: int = 1, name: str = ''):
        pass


class Child(Base):
    def __init__(self, depth: int, **kwargs):
        super().__init__(**kwargs)


class Sink:
    def __init__(self, interval: int = 1, **kwargs):
        pass


class TestArgumentsOf:
    def test_follows_kwargs_to_the_base(self):
        found = arguments_of(Child)
        assert set(found.names) == {'depth', 'size', 'name'}
        assert not found.open

    def test_kwargs_that_lead_nowhere_are_open(self):
        found = arguments_of(Sink)
        assert found.names == ('interval',) and found.open

    def test_functions(self):
        def build(depth: int) -> None:
            """Build."""

        assert arguments_of(build).names == ('depth',)
        assert arguments_of(build).hints['depth'] is int


def test_default_of():
    assert default_of(Child, 'size') == 1
    assert default_of(Child, 'depth') is None
    assert default_of(Child, 'width') is None


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
    ],
)
def test_does_not_fit(value, hint):
    assert not fits(value, hint)


def test_others_hints_are_not_taken_by_their_word():
    assert fits(None, int, strict=False)
    assert fits(3, Sequence[int], strict=False)
    assert fits([{}], dict, strict=False)
    assert not fits('often', int, strict=False)


def test_nearest():
    assert nearest('shufle', ['seed', 'shuffle'], 0.8) == 'shuffle'
    assert nearest('val_cgf', ['val_cfg', 'model'], 0.9) == 'val_cfg'
    assert nearest('adam', ['model', 'train_cfg'], 0.8) is None
