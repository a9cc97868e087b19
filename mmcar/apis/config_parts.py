"""The parts of a config: every dict, where it stands and what it builds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mmengine.config import Config
from mmengine.registry import FUNCTIONS, Registry
from mmseg import registry as registries

from .signatures import arguments_of, default_of

LOADERS = ('train_dataloader', 'val_dataloader', 'test_dataloader')
_WITH_DATA = (*LOADERS, 'tta_pipeline', 'val_evaluator', 'test_evaluator')
# Keys below which another registry is asked, by that of the parent.
_BELOW = {
    'dataset': registries.DATASETS,
    'datasets': registries.DATASETS,
    'train_dataset': registries.DATASETS,
    'pipeline': registries.TRANSFORMS,
    'transforms': registries.TRANSFORMS,
    'sampler': registries.DATA_SAMPLERS,
    'batch_sampler': registries.DATA_SAMPLERS,
    'collate_fn': FUNCTIONS,
    'metainfo': None,
    'data_prefix': None,
}
_SECTIONS: dict[str, Registry | None] = {
    'model': registries.MODELS,
    'data_preprocessor': registries.MODELS,
    'tta_model': registries.MODELS,
    'tta_pipeline': registries.TRANSFORMS,
    'train_cfg': registries.LOOPS,
    'val_cfg': registries.LOOPS,
    'test_cfg': registries.LOOPS,
    'val_evaluator': registries.METRICS,
    'test_evaluator': registries.METRICS,
    'optim_wrapper': registries.OPTIM_WRAPPERS,
    'param_scheduler': registries.PARAM_SCHEDULERS,
    'default_hooks': registries.HOOKS,
    'custom_hooks': registries.HOOKS,
    'visualizer': registries.VISUALIZERS,
    'log_processor': registries.LOG_PROCESSORS,
    'model_wrapper_cfg': registries.MODEL_WRAPPERS,
    **dict.fromkeys(LOADERS),
}
_ELSEWHERE = {
    'optimizer': registries.OPTIMIZERS,
    'vis_backends': registries.VISBACKENDS,
    'init_cfg': registries.WEIGHT_INITIALIZERS,
    'paramwise_cfg': None,
    'clip_grad': None,
    'phases': None,
}
_FOREIGN_SCOPES = ('mmseg', 'mmengine', 'mmcar')


@dataclass(frozen=True)
class Part:
    """A dict in a config.

    Args:
        path: Where it stands, e.g. ``model.decode_head.generator``.
        cfg: The dict.
        registry: Where its ``type`` is looked up; None if it has none.
    """

    path: str
    cfg: Mapping
    registry: Registry | None

    @property
    def key(self) -> str:
        """The last key of the path, without the place in a list."""
        return self.path.rpartition('.')[2].partition('[')[0]

    @property
    def section(self) -> str:
        """The key of the config that the part belongs to."""
        return self.path.partition('.')[0].partition('[')[0]

    @property
    def kind(self) -> type | None:
        """The class that is built from it, None if that is unknown."""
        kind = self.cfg.get('type')
        if kind is None or isinstance(kind, type) or callable(kind):
            return kind
        if not isinstance(kind, str) or self.registry is None or self.foreign:
            return None
        if not kind.strip('. '):  # a registry cannot even look for it
            return None
        for registry in (self.registry, *_same_level(self.registry)):
            if (found := registry.get(kind)) is not None:
                return found
        return None

    def is_a(self, kinds: type | tuple[type, ...]) -> bool:
        """Whether what is built from it is known, and is one of these."""
        kind = self.kind
        return isinstance(kind, type) and issubclass(kind, kinds)

    @property
    def foreign(self) -> bool:
        """Whether another package has to be asked for the type."""
        scope, dot, _ = str(self.cfg.get('type')).partition('.')
        other = bool(dot) and scope not in _FOREIGN_SCOPES
        return other or '_scope_' in self.cfg


def _same_level(registry: Registry) -> tuple[Registry, ...]:
    """Where else a type may be registered that stands in a model."""
    if registry is registries.MODELS:
        return registries.TASK_UTILS, registries.WEIGHT_INITIALIZERS
    if registry is registries.METRICS:
        return (registries.EVALUATOR,)
    return ()


def parts_of(cfg: Mapping) -> Iterator[Part]:
    """Go through all dicts of the sections that a runner reads."""
    for section, registry in _SECTIONS.items():
        if (value := cfg.get(section)) is not None:
            yield from _parts(section, value, registry)


def _parts(path: str, value: Any, registry: Registry | None) -> Iterator[Part]:
    if isinstance(value, Mapping):
        yield Part(path, value, registry)
        has_data = path.startswith(_WITH_DATA)
        switch = {**_ELSEWHERE, **(_BELOW if has_data else {})}
        if str(value.get('type')) == 'Albu':  # its transforms are another's
            switch['transforms'] = None
        for key, child in value.items():
            yield from _parts(
                f'{path}.{key}', child, switch.get(key, registry)
            )
    elif isinstance(value, (list, tuple)):
        for index, child in enumerate(value):
            yield from _parts(f'{path}[{index}]', child, registry)


def setting_of(part: Part, name: str) -> Any:
    """What a config says of an argument, or the default of its class."""
    if name in part.cfg:
        return part.cfg[name]
    kind = part.kind
    if not isinstance(kind, type) or name not in arguments_of(kind).names:
        return None
    return default_of(kind, name)


def value_at(cfg: Config | Mapping, path: str) -> Any:
    """The value at a dotted path; None where there is none."""
    first, *others = path.split('.')
    value = cfg.get(first)
    for key in others:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
