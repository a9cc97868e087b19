"""One call that checks a config before anything is built."""

from mmengine.config import Config
from mmengine.registry import DefaultScope

from ..utils.errors import words_of
from . import rules, signature
from .findings import RULES, Finding
from .walk import walk


def check_config(cfg: Config) -> list[Finding]:
    """All that is wrong with a config, or looks so; nothing is built.

    Args:
        cfg: The config.

    Returns:
        Errors first.
    """
    found = []
    scope = str(cfg.get('default_scope') or 'mmseg')
    with DefaultScope.overwrite_default_scope(scope):
        parts = list(walk(cfg))
        for rule in RULES:
            if rule.check.__module__ == signature.__name__:
                found += [f for part in parts for f in rule(part)]
            elif rule.check.__module__ == rules.__name__:
                try:
                    found += rule(cfg, parts)
                except (AttributeError, KeyError, TypeError) as error:
                    text = f'a rule cannot read it: {words_of(error)}'
                    found.append(Finding('config', text, 'build', False))
    return sorted(found, key=lambda finding: not finding.sure)
