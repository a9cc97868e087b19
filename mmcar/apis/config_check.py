"""One call that checks a config before anything is built."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from mmengine.config import Config
from mmengine.registry import DefaultScope

from ..utils.errors import UserError
from .config_consistency import check_consistency
from .config_keys import check_keys
from .config_parts import Part
from .config_running import check_complete
from .config_variables import check_variables
from .known_keys import TOP_LEVEL


def check_config(cfg: Config) -> None:
    """Refuse keys that nobody reads, and settings that contradict.

    Args:
        cfg: The config; nothing of it is built.

    Raises:
        UserError: Naming the key, what was expected and the nearest name.
    """
    scope = cfg.get('default_scope') or 'mmseg'
    if not isinstance(scope, str):
        raise UserError(f"default_scope={scope!r}: expected 'mmseg'.")
    with DefaultScope.overwrite_default_scope(scope), _in_words():
        check_keys(cfg)
        check_complete(cfg)
        check_consistency(cfg)
        check_variables(cfg, TOP_LEVEL)


@contextmanager
def _in_words() -> Iterator[None]:
    """Name the part that is of no form that a check could read."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        parts = [
            frame.f_locals['part']
            for frame, _ in traceback.walk_tb(error.__traceback__)
            if isinstance(frame.f_locals.get('part'), Part)
        ]
        if not parts:
            raise
        raise UserError(
            f'{parts[-1].path}={dict(parts[-1].cfg)!r} is not of a form that '
            f'can be read: {type(error).__name__}: {error}.'
        ) from error
