from collections.abc import Sequence

import pytest
from mmengine.hooks import EMAHook
from mmseg.models import FCNHead
from typing_extensions import TypedDict, Unpack

from mmcar.config_check.signature import (
    arguments_of,
    setting,
    unknown_key,
    walk,
)


class Base:
    def __init__(self, size: int, rate: float = 0.1, name=None):
        pass


class Options(TypedDict, total=False):
    depth: int


class Named(Base):
    def __init__(self, width: float, **options: Unpack[Options]):
        pass


class Child(Base):
    def __init__(self, depth: Sequence[int] = (), **kwargs):
        super().__init__(**kwargs)


def test_arguments_of_bases_are_those_of_the_class():
    hints, defaults, is_open = arguments_of(Child)
    assert [*hints] == ['depth', 'size', 'rate', 'name']
    assert defaults == dict(depth=(), rate=0.1, name=None)
    assert not is_open
    assert arguments_of(EMAHook).open and not arguments_of(Base).open
    assert 'in_channels' in arguments_of(FCNHead).hints
    named = dict(width=float, depth=int), dict(depth=None), False
    assert arguments_of(Named) == named


@pytest.mark.parametrize('kind', [dict, lambda **more: more])
def test_what_cannot_be_read_is_open(kind):
    assert arguments_of(kind).open


def parts_of(**cfg):
    return {part.path: part for part in walk(cfg)}


def test_settings_are_those_of_the_config_or_the_class():
    parts = parts_of(custom_hooks=[dict(type='EMAHook', momentum=0.5)])
    part = parts['custom_hooks[0]']
    assert part.kind is EMAHook
    assert setting(part, 'momentum') == 0.5
    assert setting(part, 'begin_iter') == 0
    assert setting(part, 'no_such') is None


def test_what_stands_in_a_class_of_a_users_own_may_be_changed_by_it():
    class Own:
        def __init__(self, inner):
            pass

    inner = dict(type='CrossEntropyLoss', popped=1, use_sigmoids=True)
    parts = parts_of(model=dict(type=Own, inner=inner))
    (found,) = unknown_key(parts['model.inner'])
    assert not found.sure and found.path == 'model.inner.use_sigmoids'
