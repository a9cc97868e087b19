"""One walk through a config: every dict, where it stands, what it builds."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mmengine.config import Config
from mmengine.optim import OptimWrapper
from mmengine.registry import FUNCTIONS, Registry
from mmengine.runner import IterBasedTrainLoop, LogProcessor, Runner
from mmseg import registry as registries
from mmseg.datasets import Albu
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.utils.data import DataLoader

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
