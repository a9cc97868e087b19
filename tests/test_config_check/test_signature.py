from collections.abc import Sequence

import pytest
from mmengine.hooks import CheckpointHook, EMAHook
from mmengine.optim import DefaultOptimWrapperConstructor
from mmseg.models import FCNHead
from typing_extensions import TypedDict, Unpack

from mmcar.config_check.signature import (
    arguments_of,
    declared_type,
    setting,
    unknown_key,
    unregistered_type,
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


@pytest.mark.parametrize('scope', [{}, {'_scope_': 'mmseg'}])
def test_the_same_is_found_in_what_is_inherited(scope):
    hook = dict(type='CheckpointHook', intervall=2, by_epoch='no', **scope)
    parts = parts_of(
        default_hooks=dict(checkpoint=hook),
        custom_hooks=[dict(type='EarlyStopingHook', **scope)],
    )
    part = parts['default_hooks.checkpoint']
    assert part.kind is CheckpointHook
    assert [f.path for f in unknown_key(part)] == [f'{part.path}.intervall']
    assert [f.path for f in declared_type(part)] == [f'{part.path}.by_epoch']
    (found,) = unregistered_type(parts['custom_hooks[0]'])
    assert 'EarlyStoppingHook' in found.text


def test_what_another_package_has_is_not_ours_to_judge():
    backbone = dict(type='ConvNeXt', _scope_='mmpretrain', anything=-1)
    parts = parts_of(model=dict(type='EncoderDecoder', backbone=backbone))
    part = parts['model.backbone']
    assert part.kind is None
    assert not unregistered_type(part) and not unknown_key(part)


def test_what_stands_in_a_class_of_a_users_own_may_be_changed_by_it():
    class Own:
        def __init__(self, inner):
            pass

    inner = dict(type='CrossEntropyLoss', popped=1, use_sigmoids=True)
    parts = parts_of(model=dict(type=Own, inner=inner))
    (found,) = unknown_key(parts['model.inner'])
    assert not found.sure and found.path == 'model.inner.use_sigmoids'


def test_types_of_others_are_read_generously():
    metric = dict(type='IoUMetric', iou_metrics='mIoU', beta=1)
    part = parts_of(val_evaluator=metric)['val_evaluator']
    (found,) = declared_type(part)
    assert found.path == 'val_evaluator.iou_metrics' and not found.sure


def test_a_constructor_of_ones_own_reads_what_it_likes():
    wrapper = dict(
        type='OptimWrapper',
        optimizer=dict(type='SGD', lr=0.1),
        paramwise_cfg=dict(decay_rate=0.9),
    )
    for constructor, right in (
        (None, False),
        (DefaultOptimWrapperConstructor.__name__, False),
        ('LearningRateDecayOptimizerConstructor', True),
    ):
        wrapper['constructor'] = constructor
        part = parts_of(optim_wrapper=wrapper)['optim_wrapper.paramwise_cfg']
        assert bool(unknown_key(part)) is not right, constructor
