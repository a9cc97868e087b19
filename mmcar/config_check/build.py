"""Which part of a config is at work, whatever builds or runs it."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any

from mmengine import registry as registries
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.model import BaseModule
from mmengine.registry import RUNNERS, Registry
from mmengine.runner import Runner
from torch import nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from ..utils.errors import UserError, sentence_of, words_of
from .findings import ConfigError, Finding
from .signature import TAKEN_OUT, Part, walk

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
            follow = partial(self._follow, changes)
            for root in vars(registries).values():
                # But that of runners, whose configs are whole ones.
                if isinstance(root, Registry) and root is not RUNNERS:
                    for registry in (root, *root.children.values()):
                        follow(registry, 'build_func', self._find)
            for name, path in STAGES.items():
                follow(Runner, name, lambda *_, path=path: path)
            follow(
                Runner, 'register_hook', lambda _, hook, *__: self._find(hook)
            )
            follow(Runner, 'build_dataloader', self._find_loader)
            start = partial(self.path_of, default='model')
            follow(BaseModule, 'init_weights', start)
            yield

    @contextmanager
    def beginning(self, hooks: Iterable[Hook]) -> Iterator[None]:
        """Follow what hooks do before the first iteration."""
        with ExitStack() as changes:
            for hook in hooks:
                path = self.path_of(hook)
                for name in BEGIN if path else ():
                    find = lambda *_, path=path: path  # noqa: E731
                    self._follow(changes, hook, name, find)
            yield

    def _follow(
        self, changes: ExitStack, place: Any, name: str, find: Callable
    ) -> None:
        """Let what a method raises begin with a path, until changes end.

        Args:
            changes: Puts the method back.
            place: Object or class that has it.
            name: Its name.
            find: Says the path of what it works on by its arguments.
        """
        own, method = vars(place).get(name), getattr(place, name)

        def followed(*args: Any, **kwargs: Any) -> Any:
            path = find(*args)
            with self.at(path) if path else nullcontext():
                built = method(*args, **kwargs)
            if path and built is not None:
                # Kept, so that no other object gets its id.
                self.built[id(built)] = built, path
            return built

        static = isinstance(own, staticmethod)
        setattr(place, name, staticmethod(followed) if static else followed)
        if own is None:
            changes.callback(delattr, place, name)
        else:
            changes.callback(setattr, place, name, own)

    def _find_loader(self, loader: Any, *_: Any) -> str:
        # Loops may change all but the data set.
        data = loader.get('dataset') if isinstance(loader, Mapping) else None
        return self._find(data).removesuffix('.dataset')

    def _find(self, cfg: Any, *_: Any) -> str:
        """The path of what is built: below the part at work, if it can be."""
        above = self.stack[-1] if self.stack else ''
        found = [part for part in self.parts if _is_of(part, cfg)]
        # Data sets are built without their pipelines to list images.
        found = found or [p for p in self.parts if _is_of(p, cfg, list)]
        found.sort(key=lambda part: -len(part.cfg))
        found.sort(key=lambda part: not part.path.startswith(above))
        return found[0].path if found else ''

    def path_of(self, built: Any, default: str = '') -> str:
        """The path of the part from which something was built."""
        return self.built.get(id(built), (None, default))[1]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Follow which part of a model computes."""

        def enter(module: nn.Module, _: Any) -> None:
            self.stack.append(self.path_of(module, (self.stack or [''])[-1]))

        def leave(*_: Any) -> None:
            self.stack.pop()

        entering = register_module_forward_pre_hook(enter)
        leaving = register_module_forward_hook(leave)
        try:
            yield
        finally:
            entering.remove()
            leaving.remove()


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
    left = {'_scope_', 'type', *TAKEN_OUT.get(part.section, ())}
    kind = own.get('type', getattr(part.kind, '__name__', None))
    compared = [
        key in built and (value == 'phase' or built[key] == value)
        for key, value in own.items()
        if key not in left and not isinstance(value, but)
    ]
    same = kind == built.get('type') and all(compared)
    return same and bool(kind or compared)
