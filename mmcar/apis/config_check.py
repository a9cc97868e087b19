"""One call that checks a config before anything is built."""

from mmengine.config import Config
from mmengine.registry import DefaultScope

from ..utils.errors import UserError
from .config_consistency import check_consistency
from .config_keys import check_keys


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
    with DefaultScope.overwrite_default_scope(scope):
        check_keys(cfg)
        check_consistency(cfg)
