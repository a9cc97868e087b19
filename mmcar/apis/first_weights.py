"""Networks that others learn from, though nobody has given them weights."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from torch import nn

from ..models.black_boxes import BaseBlackBox
from ..utils.errors import UserError


class FirstWeights:
    """Follows which networks have been trained or loaded.

    Args:
        model: The model, as it stands before the first step.
        loaded: Keys of the checkpoint that it starts from.
    """

    def __init__(self, model: nn.Module, loaded: Collection[str] = ()) -> None:
        networks = dict(getattr(model, 'networks', dict)())
        boxes = {
            path: module
            for path, module in model.named_modules()
            if isinstance(module, BaseBlackBox)
        }
        paths = {module: path for path, module in model.named_modules()}
        self.networks = {
            name: module
            for name, module in {**networks, **boxes}.items()
            if any(True for _ in module.parameters())
        }
        self.known = {
            name
            for name, module in self.networks.items()
            if _has_weights(model, paths.get(module, name), module, loaded)
        }

    @contextmanager
    def watching(
        self, key: str, trained: Collection[str], copied: Collection[str] = ()
    ) -> Iterator[None]:
        """Refuse a phase that learns from a network of random weights.

        Args:
            key: Of the phase.
            trained: Names of the networks that it trains.
            copied: Paths of the parts whose weights it takes over.
        """
        used = {path.partition('.')[0] for path in copied}
        used -= self.known
        self.known |= set(trained) - used
        hooks = [
            module.register_forward_pre_hook(
                lambda *_, name=name: used.add(name)
            )
            for name, module in self.networks.items()
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()
        for name in sorted(used - self.known):
            is_box = isinstance(self.networks[name], BaseBlackBox)
            place, advice = key, f'train {name} before, set its init_cfg'
            if is_box:
                place, advice = f'model.{name}.checkpoint', 'set it'
            raise UserError(
                f'{place}: {", ".join(trained)} would learn from {name}, '
                'whose weights are random, as nothing trains or loads it: '
                f'{advice}, or give a checkpoint of the whole by load_from.'
            )

    def random_boxes(self) -> list[str]:
        """Paths of the black boxes that nobody has trained."""
        return [
            name
            for name, module in self.networks.items()
            if isinstance(module, BaseBlackBox) and name not in self.known
        ]


def _has_weights(
    model: nn.Module, path: str, module: nn.Module, loaded: Collection[str]
) -> bool:
    """Whether a network comes with weights of its own."""
    if any(key.startswith(f'{path}.') for key in loaded):
        return True
    if getattr(module, 'starts_trained', False):
        return True
    steps = path.split('.')
    above = ('.'.join(steps[:n]) for n in range(len(steps) + 1))
    return any(_is_pretrained(model.get_submodule(name)) for name in above)


def _is_pretrained(module: nn.Module) -> bool:
    cfg = getattr(module, 'init_cfg', None) or ()
    configs = [cfg] if isinstance(cfg, Mapping) else cfg
    return any(c.get('type') == 'Pretrained' for c in configs)
