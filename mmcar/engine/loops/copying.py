"""Weights that a phase begins with: those of another part of the model."""

from collections.abc import Mapping

from torch import nn

from ...utils.errors import UserError
from .schedule import Phase


def copy_weights(networks: Mapping[str, nn.Module], phase: Phase) -> None:
    """Let parts of networks become equal to others.

    Args:
        networks: Networks of the model by name.
        phase: Its ``copy`` names the parts.
    """
    for target, source in phase.copy.items():
        weights = find_part(networks, source).state_dict()
        find_part(networks, target).load_state_dict(weights)


def check_copies(networks: Mapping[str, nn.Module], phase: Phase) -> None:
    """Refuse parts that do not exist or differ in shape, before training."""
    for target, source in phase.copy.items():
        parts = (find_part(networks, path) for path in (target, source))
        states = (part.state_dict().items() for part in parts)
        one, other = ({k: w.shape for k, w in state} for state in states)
        if one != other:
            raise UserError(
                f'train_cfg.phases: copy={phase.copy}, but the weights of '
                f'{source} do not fit {target}: give both the same config.'
            )


def find_part(networks: Mapping[str, nn.Module], path: str) -> nn.Module:
    """A network by its name, or a part of one: ``'generator.net'``."""
    name, _, rest = path.partition('.')
    try:
        return networks[name].get_submodule(rest)
    except (KeyError, AttributeError):
        raise UserError(
            f'train_cfg.phases: copy names {path!r}, which the model does '
            f'not have; its networks are {list(networks)}.'
        ) from None
