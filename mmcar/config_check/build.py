"""Which part of a config is at work, whatever builds or runs it."""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from mmengine import registry as registries
from mmengine.config import Config
from mmengine.registry import Registry
from mmengine.runner import Runner
from torch import nn

from ..utils.errors import UserError, sentence_of, words_of
from .findings import ConfigError, Finding
from .walk import Part, walk

#: What a runner's methods read.
STAGES = {
    'setup_env': 'env_cfg',
    'set_randomness': 'randomness',
    'build_logger': 'log_level',
    'build_optim_wrapper': 'optim_wrapper',
    'build_param_scheduler': 'param_scheduler',
    'register_hooks': 'default_hooks',
    'load_or_resume': 'load_from',
}


class Trace:
    """The path of the part at work, for every error to begin with.

    Args:
        cfg: The config.
    """

    def __init__(self, cfg: Config) -> None:
        # Whoever builds may take keys out of their dicts.
        self.parts = list(walk(copy.deepcopy(cfg)))[1:]
        self.stack: list[str] = []
        self.built: dict[int, tuple[Any, str]] = {}

    @contextmanager
    def at(self, path: str, rule: str = 'build') -> Iterator[None]:
        """Let every error in here begin with a path.

        Args:
            path: Of the part at work; if one within it fails, its own counts.
            rule: What is said to have found it.

        Raises:
            ConfigError: Whatever went wrong, with the path before it.
        """
        depth = len(self.stack)
        self.stack.append(path)
        try:
            yield
        except ConfigError:
            raise
        except Exception as error:
            if sentence_of(error) and not isinstance(error, UserError):
                raise  # memory, rights, the network: not the config's fault
            text = ' '.join(words_of(error).split())
            found = Finding(self.stack[-1], text, rule, True)
            raise ConfigError(found) from error
        finally:
            del self.stack[depth:]

    @contextmanager
    def building(self) -> Iterator[None]:
        """Follow what registries and runners do in here."""
        kept: list[tuple[Any, str, Any]] = []

        def replace(place: Any, name: str, wrap: Callable) -> None:
            kept.append((place, name, vars(place)[name]))
            setattr(place, name, wrap(getattr(place, name)))

        try:
            for registry in _registries():
                replace(registry, 'build_func', self._following)
            for name, path in STAGES.items():
                replace(Runner, name, partial(self._naming, path))
            replace(Runner, 'build_dataloader', self._loading)
            yield
        finally:
            for place, name, old in reversed(kept):
                setattr(place, name, old)

    def _following(self, build: Callable) -> Callable:
        def follow(cfg: Any, *args: Any, **kwargs: Any) -> Any:
            path = self._find(cfg)
            if path is None:
                return build(cfg, *args, **kwargs)
            with self.at(path):
                built = build(cfg, *args, **kwargs)
            # Kept, so that no other object gets its id.
            self.built[id(built)] = built, path
            return built

        return follow

    def _naming(self, path: str, method: Callable) -> Callable:
        def named(*args: Any, **kwargs: Any) -> Any:
            with self.at(path):
                return method(*args, **kwargs)

        return named

    def _loading(self, load: Callable) -> staticmethod:
        def loaded(loader: Any, *args: Any, **kwargs: Any) -> Any:
            # Loops may change all but the data set.
            data = loader.get('dataset') if isinstance(loader, Mapping) else 0
            with self.at((self._find(data) or '').removesuffix('.dataset')):
                return load(loader, *args, **kwargs)

        return staticmethod(loaded)

    def _find(self, cfg: Any) -> str | None:
        """The path of what is built: below the part at work, if it can be."""
        above = self.stack[-1] if self.stack else ''
        found = [part for part in self.parts if _is_of(part, cfg)]
        # Data sets are built without their pipelines to list images.
        found = found or [p for p in self.parts if _is_of(p, cfg, list)]
        found.sort(key=lambda part: -len(part.cfg))
        found.sort(key=lambda part: not part.path.startswith(above))
        return found[0].path if found else None

    def path_of(self, built: Any, default: str = '') -> str:
        """The path of the part from which something was built."""
        return self.built.get(id(built), (None, default))[1]

    @contextmanager
    def running(self, model: nn.Module) -> Iterator[None]:
        """Follow which part of a model computes."""
        handles: list[Any] = []

        def follow(module: nn.Module, path: str) -> None:
            path = self.path_of(module, path)
            enter = lambda *_: self.stack.append(path)  # noqa: E731
            leave = lambda *_: self.stack.pop() and None  # noqa: E731
            handles.append(module.register_forward_pre_hook(enter))
            handles.append(module.register_forward_hook(leave))
            for child in module.children():
                follow(child, path)

        follow(model, 'model')
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def _registries() -> Iterator[Registry]:
    """Every registry but that of runners, whose configs are whole ones."""
    for root in vars(registries).values():
        if isinstance(root, Registry) and root is not registries.RUNNERS:
            yield from (root, *root.children.values())


def _is_of(part: Part, built: Any, but: type | tuple = ()) -> bool:
    """Whether something is built from a part of the config.

    It may have got more keys on its way, and numbers for words.

    Args:
        part: The part.
        built: The dict that something is built from.
        but: Values of this type are not compared.
    """
    own = part.cfg
    if not (own and isinstance(built, Mapping)):
        return False
    return own.get('type') == built.get('type') and all(
        key in built and (value == 'phase' or built[key] == value)
        for key, value in own.items()
        if key != '_scope_' and not isinstance(value, but)
    )
