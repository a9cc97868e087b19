"""Every dict of a config: where it stands, what it builds, what that takes."""

import functools
import inspect
import re
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from mmengine.config import Config
from mmengine.hooks import CheckpointHook
from mmengine.model import BaseModule
from mmengine.optim import DefaultOptimWrapperConstructor, OptimWrapper
from mmengine.registry import FUNCTIONS, Registry
from mmengine.runner import IterBasedTrainLoop, LogProcessor, Runner
from mmseg import registry as registries
from mmseg.datasets import Albu
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.utils.data import DataLoader
from typing_extensions import is_typeddict

from ..utils.type_check import fits, misfit, nearest
from .findings import Found, error

LOADERS = ('train_dataloader', 'val_dataloader', 'test_dataloader')
EVALUATORS = ('val_evaluator', 'test_evaluator')
HOOKS = ('default_hooks', 'custom_hooks')
#: Scopes that are looked up here: MMEngine writes one into all that a config
#: inherits from a ``mmseg::`` base.
HOME = ('mmseg', 'mmengine', 'mmcar', 'mmcv', 'torch')
MODELS, DATASETS = registries.MODELS, registries.DATASETS
SECTIONS: dict[str, Registry | None] = {
    **dict.fromkeys(('model', 'data_preprocessor', 'tta_model'), MODELS),
    **dict.fromkeys(LOADERS),
    **dict.fromkeys(('train_cfg', 'val_cfg', 'test_cfg'), registries.LOOPS),
    **dict.fromkeys(EVALUATORS, registries.METRICS),
    **dict.fromkeys(HOOKS, registries.HOOKS),
    **dict.fromkeys(('randomness', 'env_cfg', 'auto_scale_lr')),
    'tta_pipeline': registries.TRANSFORMS,
    'optim_wrapper': registries.OPTIM_WRAPPERS,
    'param_scheduler': registries.PARAM_SCHEDULERS,
    'visualizer': registries.VISUALIZERS,
    'log_processor': registries.LOG_PROCESSORS,
    'model_wrapper_cfg': registries.MODEL_WRAPPERS,
}
#: Keys below which another registry is asked than above.
BELOW: dict[str, Registry | None] = {
    **dict.fromkeys(('dataset', 'datasets', 'train_dataset'), DATASETS),
    **dict.fromkeys(('pipeline', 'transforms'), registries.TRANSFORMS),
    **dict.fromkeys(('sampler', 'batch_sampler'), registries.DATA_SAMPLERS),
    **dict.fromkeys(('metainfo', 'data_prefix', 'paramwise_cfg', 'clip_grad')),
    'collate_fn': FUNCTIONS,
    'optimizer': registries.OPTIMIZERS,
    'vis_backends': registries.VISBACKENDS,
    'init_cfg': registries.WEIGHT_INITIALIZERS,
}
#: What a dict without a type is handed to.
UNTYPED: dict[str, Callable] = {
    **dict.fromkeys(LOADERS, DataLoader),
    'log_processor': LogProcessor,
    'randomness': Runner.set_randomness,
}


@dataclass(frozen=True)
class Part:
    """A dict in a config.

    Args:
        path: Where it stands, e.g. ``model.decode_head.generator``.
        cfg: The dict.
        registry: Where its ``type`` is looked up; None if it has none.
        scope: In which its ``type`` is looked up.
        parent: The part in which it stands.
        kind: The class or function that gets it; None if that is unknown.
    """

    path: str
    cfg: Mapping
    registry: Registry | None = None
    scope: str = 'mmseg'
    parent: 'Part | None' = None
    kind: Callable | None = None

    @property
    def key(self) -> str:
        """The last key of the path, without the place in a list."""
        return self.path.rpartition('.')[2].partition('[')[0]

    @property
    def section(self) -> str:
        """The key of the config that the part belongs to."""
        return self.path.partition('.')[0].partition('[')[0]

    @property
    def package(self) -> str:
        """Which package its class comes from."""
        return getattr(self.kind, '__module__', '').partition('.')[0]

    @property
    def is_built_here(self) -> bool:
        """Whether it is built as it stands, by a class that is known."""
        above = self.parent
        return above is None or above.kind is None or above.package in HOME

    def child(self, key: Any) -> str:
        """The path of a setting."""
        return f'{self.path}.{key}' if self.path else str(key)

    def is_a(self, *kinds: type) -> bool:
        """Whether what is built from it is known, and is one of these."""
        return isinstance(self.kind, type) and issubclass(self.kind, kinds)


def walk(cfg: Config | Mapping) -> Iterator[Part]:
    """Go through all dicts that a runner reads, the whole config first."""
    yield Part('', cfg)
    scope = str(cfg.get('default_scope') or 'mmseg')
    for section, registry in SECTIONS.items():
        part = Part(section, {}, registry, scope)
        yield from _walk(part, cfg.get(section))


def _walk(part: Part, value: Any) -> Iterator[Part]:
    """Go through a value that stands where a part is expected."""
    if isinstance(value, (list, tuple)):
        for index, child in enumerate(value):
            path = f'{part.path}[{index}]'
            yield from _walk(replace(part, path=path), child)
    elif isinstance(value, Mapping):
        scope = str(value.get('_scope_') or part.scope)
        part = replace(part, cfg=value, scope=scope)
        part = replace(part, kind=_kind(part))
        yield part
        # The transforms of Albu are another package's.
        for key, child in {} if part.is_a(Albu) else value.items():
            below = BELOW.get(key, part.registry)
            inner = Part(part.child(key), {}, below, scope, part)
            yield from _walk(inner, child)


def _kind(part: Part) -> Callable | None:
    """The class or function that a part is handed to."""
    name = part.cfg.get('type')
    if part.key == 'clip_grad':
        return clip_grad_value_ if name == 'value' else clip_grad_norm_
    if isinstance(name, str) and part.registry is not None:
        others = vars(registries).values()
        known = [part.registry, *(r for r in others if type(r) is Registry)]
        readable = name.replace('.', '').isidentifier()
        found = (registry.get(name) for registry in known if readable)
        return next((kind for kind in found if kind is not None), None)
    if name is not None:
        return name if callable(name) else None
    if part.path == 'train_cfg' and not part.cfg.get('by_epoch', True):
        return IterBasedTrainLoop
    if part.registry is registries.OPTIM_WRAPPERS and 'optimizer' in part.cfg:
        return OptimWrapper
    return UNTYPED.get(part.path)


ALWAYS = {'type', '_scope_', '_delete_'}
#: Keys of dicts that no class gets; there may be others where it says '...'.
PLAIN = {
    '': '... custom_imports model_wrapper_cfg find_unused_parameters sync_bn '
    'runner_type tta_model tta_pipeline train_pipeline val_pipeline '
    'test_pipeline activation_checkpointing efficient_conv_bn_eval',
    'default_hooks': '... runtime_info timer sampler_seed logger '
    'param_scheduler checkpoint visualization',
    'env_cfg': 'cudnn_benchmark mp_cfg dist_cfg resource_limit',
    'auto_scale_lr': 'base_batch_size enable',
    'metainfo': '... classes palette class_flips label_map',
    'data_prefix': '... img_path seg_map_path',
    'paramwise_cfg': 'custom_keys bias_lr_mult bias_decay_mult '
    'norm_decay_mult flat_decay_mult dwconv_decay_mult dcn_offset_lr_mult '
    'bypass_duplicate',
}
#: Keys at the top of a config.
KEYS = {*PLAIN[''].split(), *inspect.signature(Runner).parameters}
#: Keys that are taken out before a class gets the rest, by section or key.
TAKEN_OUT: dict[str, tuple[str, ...]] = {
    'init_cfg': ('override',),
    'override': ('name',),
    'optim_wrapper': ('optimizer', 'paramwise_cfg', 'constructor'),
    'param_scheduler': ('convert_to_iter_based',),
    'train_cfg': ('by_epoch',),
    **dict.fromkeys(HOOKS, ('priority',)),
    **dict.fromkeys(
        LOADERS, ('num_batch_per_epoch', 'disable_subprocess_warning')
    ),
}
#: Keys that hold parts, or lists of them.
PARTS = ('pipeline', 'dataset', 'sampler', 'vis_backends', 'optimizer')
NUMBER, WORD = float | None | Sequence | Mapping, str | float | None
SINGLE = ('dataset', 'sampler', 'optimizer')
TYPES = {'cudnn_benchmark': bool, 'dist_cfg': dict, 'mp_cfg': dict}
#: What the type of a default says about an argument without a hint.
LIKE = {bool: bool, int: NUMBER, float: NUMBER, str: WORD}
SIMPLE = {bool, int, float, type(None)}
SHOWN = 12  # names
NUMERAL = re.compile(r'[-+]?([\d.]+(e[-+]?\d+)?|inf|nan)', re.IGNORECASE)
CLOSE, FAIRLY_CLOSE = 0.85, 0.7  # of names, from 0 to 1


class Arguments(NamedTuple):
    """The arguments of a class or function.

    Attributes:
        hints: Names, those of base classes included, and type hints.
        defaults: Of those that have one.
        open: Whether it swallows unknown names in a ``**kwargs``.
    """

    hints: Mapping[str, Any]
    defaults: Mapping[str, Any]
    open: bool


@functools.cache
def arguments_of(kind: Callable) -> Arguments:
    """Read the arguments of a class or function.

    A ``**kwargs`` is followed to the base classes; only where it leads to
    none of them are the names taken to be open.
    """
    is_module = inspect.isclass(kind) and issubclass(kind, BaseModule)
    hints: dict[str, Any] = {'init_cfg': Any} if is_module else {}
    defaults: dict[str, Any] = dict.fromkeys(hints)
    takes_more = False
    for function in _constructors(kind):
        known: dict[str, Any] = {}
        try:
            parameters = inspect.signature(function).parameters
            known = typing.get_type_hints(inspect.unwrap(function))
        except ValueError:  # written in C
            return Arguments(hints, defaults, True)
        except (NameError, TypeError, AttributeError):
            pass  # hints that name what cannot be found
        takes_more = False
        for name, parameter in parameters.items():
            default = parameter.default
            if parameter.kind is parameter.VAR_KEYWORD:
                (named,) = typing.get_args(known.get(name)) or (None,)
                takes_more = not is_typeddict(named)
                if not takes_more:  # Unpack[named]
                    hints |= typing.get_type_hints(named)
                    defaults |= dict.fromkeys(named.__optional_keys__)
            elif name not in {'self', *hints} and '*' not in str(parameter):
                hint = known.get(name, LIKE.get(type(default), Any))
                hints[name] = hint if default is not None else hint | None
                if default is not parameter.empty:
                    defaults[name] = default
        if not takes_more:
            break
    return Arguments(hints, defaults, takes_more)


def _constructors(kind: Callable) -> list[Callable]:
    """The functions that take a class's arguments, one after the other."""
    if not inspect.isclass(kind):
        return [kind]
    # MMSeg puts BaseModule in the place of a class whose package is missing:
    # what is handed on to it says nothing.
    skipped = {object, BaseModule} - {kind}
    bases = [base for base in kind.__mro__ if base not in skipped]
    return [vars(b)['__init__'] for b in bases if '__init__' in vars(b)]


def setting(part: Part, name: str) -> Any:
    """What the config says of an argument, or its default."""
    defaults = arguments_of(part.kind).defaults if part.kind else {}
    return part.cfg.get(name, defaults.get(name))


def _known(part: Part) -> Arguments | None:
    """What a part takes; None if nobody can say."""
    names = PLAIN.get(part.path, PLAIN.get(part.key, '')).split()
    if part.kind is None and names:
        name = part.parent and part.parent.cfg.get('constructor')
        if part.key == 'paramwise_cfg' and isinstance(name, str):
            found = registries.OPTIM_WRAPPER_CONSTRUCTORS.get(name)
            if found is not DefaultOptimWrapperConstructor:
                return None
        hints = {name: TYPES.get(name, Any) for name in names}
        if not part.path:
            hints |= arguments_of(Runner).hints
        return Arguments(hints, {}, '...' in names)
    in_layer = part.registry is registries.MODELS and part.key.endswith('_cfg')
    if part.kind is None or in_layer:
        return None  # builders of layers take more than the class
    own, defaults, takes_more = arguments_of(part.kind)
    taken = TAKEN_OUT.get(part.section, ()) + TAKEN_OUT.get(part.key, ())
    hints = {**own, **dict.fromkeys(taken, Any)}
    if part.is_a(CheckpointHook):  # the rest is for another
        hints |= arguments_of(Runner.save_checkpoint).hints
        takes_more = False
    return Arguments(hints, defaults, takes_more)


@error
def unknown_key(part: Part) -> Found:
    """A key that a class or dict does not read.

    A warning, and only for names that are nearly right, where it may take
    any, or where a class of another package may take keys out before.
    """
    known = _known(part) or Arguments({}, {}, True)
    owner = getattr(part.kind, '__name__', part.path or 'a config')
    sure = part.is_built_here and not known.open
    for key in [str(key) for key in part.cfg if key not in ALWAYS]:
        near = sure or nearest(key, known.hints, CLOSE)
        if near and key not in known.hints:
            text = f'{owner} takes no {key!r}{hint(key, known.hints)}'
            yield part.child(key), text, sure


def hint(name: str, known: Collection[str]) -> str:
    """The nearest of some names, or the first of them."""
    longer = [k for k in known if k.startswith(name)]
    near = longer[0] if longer else nearest(name, known, FAIRLY_CLOSE)
    some = ', '.join(sorted(known)[:SHOWN])
    return f'; did you mean {near!r}?' if near else f'; there are {some}, ...'


@error
def unregistered_type(part: Part) -> Found:
    """A type that no registry has."""
    name, registry = part.cfg.get('type'), part.registry
    if 'type' not in part.cfg or registry is None or part.kind:
        return
    scope = name.rpartition('.')[0] if isinstance(name, str) else ''
    if part.is_built_here and (scope or part.scope).split('.')[0] in HOME:
        known = {
            *registry.module_dict,
            *(registry.parent or registry).module_dict,
        }
        text = f'{name!r} is not registered{hint(str(name), known)}'
        advice = 'Name the module of your own classes in custom_imports.'
        yield part.child('type'), f'{text} {advice}'


@error
def no_part(part: Part) -> Found:
    """A text, number or list where a dict with a type is expected."""
    for key, value in part.cfg.items():
        several = isinstance(value, (list, tuple)) and key not in SINGLE
        values = value if several else [value]
        parts = key in PARTS and part.is_built_here and part.package in HOME
        top = key in SECTIONS if not part.path else part.path == HOOKS[0]
        for entry in values if parts or top else ():
            if isinstance(entry, (str, int, float, list)):
                yield part.child(key), f'{entry!r}: expected a dict.'


@error
def declared_type(part: Part) -> Found:
    """A value of another type than one of our classes declares.

    Of other classes, a text where a number or a switch is declared. What
    else they declare is not always right, and is worth a warning.
    """
    known, ours = _known(part), part.package == 'mmcar'
    for key, value in part.cfg.items() if known else ():
        expected = known.hints.get(key, Any)  # type: ignore[union-attr]
        # A number by the time that it is built.
        by_phase = (part.section, value) == ('param_scheduler', 'phase')
        if not by_phase and not fits(value, expected, ours):
            simple = {*(typing.get_args(expected) or (expected,))} <= SIMPLE
            # Some make numbers of texts themselves: norm_type='inf'.
            text_only = isinstance(value, str) and not NUMERAL.fullmatch(value)
            sure = ours or (text_only and simple)
            text = misfit(str(key), value, expected, ours)
            yield part.child(key), text, sure
