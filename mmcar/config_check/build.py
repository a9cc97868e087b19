"""Which part of a config is at work, whatever builds or runs it."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from mmengine import registry as registries
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.model import BaseModule
from mmengine.registry import Registry
from mmengine.runner import Runner
from torch import nn
from torch.optim import Optimizer

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
    'register_default_hooks': 'default_hooks',
    'register_custom_hooks': 'custom_hooks',
    'load_or_resume': 'load_from',
}
#: What hooks do before the first iteration.
BEGIN = ('before_run', 'before_train', 'before_test', 'after_load_checkpoint')


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
        with ExitStack() as changes:
            follow = changes.enter_context
            for registry in _registries():
                follow(_replaced(registry, 'build_func', self._built))
            for name, path in STAGES.items():
                follow(_replaced(Runner, name, partial(self._named, path)))
            follow(_replaced(Runner, 'register_hook', self._hooked))
            follow(_replaced(Runner, 'build_dataloader', self._loaded))
            follow(_replaced(BaseModule, 'init_weights', self._started))
            yield

    def _built(self, build: Callable) -> Callable:
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

    def _named(self, path: str, function: Callable) -> Callable:
        def named(*args: Any, **kwargs: Any) -> Any:
            with self.at(path):
                return function(*args, **kwargs)

        return named

    def _hooked(self, register: Callable) -> Callable:
        def hooked(runner: Runner, hook: Any, *args: Any) -> None:
            with self.at(self._find(hook) or self.stack[-1]):
                register(runner, hook, *args)

        return hooked

    def _started(self, start: Callable) -> Callable:
        def started(module: Any) -> None:
            with self.at(self.path_of(module, 'model')):
                start(module)

        return started

    def _loaded(self, load: Callable) -> staticmethod:
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
    def beginning(self, hooks: Iterable[Hook]) -> Iterator[None]:
        """Follow what hooks do before the first iteration."""
        with ExitStack() as changes:
            for hook in hooks:
                begin = partial(self._named, self.path_of(hook))
                for name in BEGIN if id(hook) in self.built else ():
                    changes.enter_context(_replaced(hook, name, begin))
            yield

    @contextmanager
    def running(self, model: nn.Module) -> Iterator[None]:
        """Follow which part of a model computes."""
        with ExitStack() as changes:

            def follow(module: nn.Module, path: str) -> None:
                path = self.path_of(module, path)
                enter = lambda *_: self.stack.append(path)  # noqa: E731
                leave = lambda *_: self.stack.pop() and None  # noqa: E731
                for handle in (
                    module.register_forward_pre_hook(enter),
                    module.register_forward_hook(leave),
                ):
                    changes.callback(handle.remove)
                for child in module.children():
                    follow(child, path)

            follow(model, 'model')
            yield


@contextmanager
def _replaced(place: Any, name: str, wrap: Callable) -> Iterator[None]:
    """Wrap a method of an object or class for a while."""
    own = vars(place).get(name)
    setattr(place, name, wrap(getattr(place, name)))
    try:
        yield
    finally:
        if own is None:
            delattr(place, name)
        else:
            setattr(place, name, own)


def _registries() -> Iterator[Registry]:
    """Every registry but that of runners, whose configs are whole ones."""
    for root in vars(registries).values():
        if isinstance(root, Registry) and root is not registries.RUNNERS:
            yield from (root, *root.children.values())


def _is_of(part: Part, built: Any, but: type | tuple = ()) -> bool:
    """Whether something is built from a part of the config.

    It may have got more keys on its way, numbers for words, and parts that
    are built already.

    Args:
        part: The part.
        built: The dict that something is built from.
        but: Values of this type are not compared.
    """
    own = part.cfg
    if not (own and isinstance(built, Mapping)):
        return False
    kind = own.get('type', getattr(part.kind, '__name__', None))
    return kind == built.get('type') and all(
        key in built
        and (
            value == 'phase'
            or built[key] == value
            or isinstance(built[key], Optimizer)
        )
        for key, value in own.items()
        if key != '_scope_' and not isinstance(value, but)
    )
