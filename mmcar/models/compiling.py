"""``torch.compile`` for single networks, as an option that cannot hurt."""

import logging
from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import Any

import torch
from mmengine.logging import print_log
from torch import nn

from ..utils.errors import UserError

LONGEST = 200  # letters of the reason for which compiling failed


class _CompiledOrEager:
    """Calls the compiled function until it fails, then the eager one.

    Args:
        function: What to compile.
        label: Its name for users.
        at_test: Whether only calls without gradients are compiled.
    """

    def __init__(
        self, function: Callable, label: str, at_test: bool = False
    ) -> None:
        self.eager = function
        self.label = label
        self.at_test = at_test
        self.current = torch.compile(function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.current is self.eager or (self.at_test and _faster(args)):
            return self.eager(*args, **kwargs)
        try:
            return self.current(*args, **kwargs)
        except Exception as error:
            # A mistake in the model itself comes up again in the eager call.
            # The compiler's own words may take pages.
            reason = shorten(f'{type(error).__name__}: {error}', LONGEST)
            print_log(
                f'torch.compile of {self.label} failed, going on without it: '
                f'{reason}',
                logger='current',
                level=logging.WARNING,
            )
            self.current = self.eager
            return self.eager(*args, **kwargs)


def _faster(args: tuple) -> bool:
    """Whether the eager decoder is to be used at test.

    In training, and where features are prepared for the folded decoder,
    which takes two thirds of the time of the compiled plain one.
    """
    folded = getattr(args[0], 'folded', None) if args else None
    return torch.is_grad_enabled() or folded is not None


def compile_networks(model: nn.Module, names: Sequence[str]) -> None:
    """Compile networks of a model in place; parameter names do not change.

    Of a generator, ``encode`` and ``decode`` are compiled: its ``forward``
    calls back into losses, which no compiler looks through.

    Args:
        model: Model with ``networks()``.
        names: Names of the networks to compile.
    """
    networks = model.networks() if names else {}
    for name in names:
        if name not in networks:
            raise UserError(
                f'compile names {name!r}, which is not a trainable network '
                f'of the model; it has {list(networks)}.'
            )
        network = networks[name]
        parts = [p for p in ('encode', 'decode') if hasattr(network, p)]
        for part in parts or ['forward']:
            function = _CompiledOrEager(
                getattr(network, part), f'{name}.{part}'
            )
            setattr(network, part, function)


def compile_decoder(generator: nn.Module) -> None:
    """Compile what turns noise into samples, for tests only.

    Args:
        generator: G. One without weights has nothing that compiling would
            make faster and is left alone.
    """
    if any(True for _ in generator.parameters()):
        generator.decode = _CompiledOrEager(
            generator.decode, 'generator.decode', at_test=True
        )
