"""What a check finds, and the rules by which it does."""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..utils.errors import UserError

#: What a rule yields: where something stands, what is wrong with it and, if
#: it differs from the rule's own level, whether that is sure.
Found: TypeAlias = Iterator[tuple[str, str] | tuple[str, str, bool]]
RULES: list['Rule'] = []


@dataclass(frozen=True)
class Finding:
    """Something that is wrong with a config, or looks so.

    Args:
        path: Where it stands, e.g. ``train_dataloader.sampler.shufle``.
        text: What is wrong, and what to do.
        rule: Name of the rule that says so.
        sure: Whether the run would fail, or do something else than the
            config says: an error. All else is a warning.
    """

    path: str
    text: str
    rule: str
    sure: bool

    def __str__(self) -> str:
        level = '' if self.sure else 'warning: '
        named = self.text.startswith(self.path)  # also by ''
        where = '' if named else f'{self.path}: '
        return f'{level}{where}{self.text} [{self.rule}]'


class ConfigError(UserError):
    """A config that cannot work.

    Args:
        findings: One error at least, and what else was found.
    """

    def __init__(self, *findings: Finding) -> None:
        self.findings = findings
        super().__init__('\n'.join(map(str, findings)))


@dataclass(frozen=True)
class Rule:
    """A named check; its docstring is what the page of rules says.

    Args:
        check: Yields a path and a text for everything that it finds.
        sure: See `Finding`.
    """

    check: Callable[..., Found]
    sure: bool

    @property
    def name(self) -> str:
        """That of the function, as users see it."""
        return self.check.__name__.replace('_', '-')

    def __call__(self, *args: Any) -> list[Finding]:
        """All that the rule finds."""
        return [
            Finding(path, text, self.name, self.sure and all(sure))
            for path, text, *sure in self.check(*args)
        ]


def error(check: Callable[..., Found], sure: bool = True) -> Rule:
    """Register a rule about what is surely wrong."""
    RULES.append(Rule(check, sure))
    return RULES[-1]


#: The same for what may be meant, and may be a mistake.
warning = functools.partial(error, sure=False)
