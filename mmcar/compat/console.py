"""A quiet console: what a user can act on, and nothing else.

Tools run inside of `quiet`; a library that is imported changes nothing. Log
files stay complete.
"""

import logging
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

# What the stack warns of itself, in code that no user of ours can change:
# each is named, so that every other warning is shown.
STACK_WARNINGS = (
    'For binary segmentation, we suggest using',
    '``build_loss`` would be deprecated soon',
    'Default ``avg_non_ignore`` is False',
    'The draw is False, it means that the hook for visualization',
    'pkg_resources is deprecated as an API',
    '`torch.jit',
    "'pin_memory' argument is set as true but no accelerator is found",
    'Failed to search registry with scope',
)
STACK_RECORDS = (
    '`resume_param_scheduler` is True but',
    '`save_param_scheduler` is True but',
    '"FileClient" will be deprecated in future',
    '"HardDiskBackend" is the alias of',
    'Failed to search registry with scope',
    'Failed to import `None.registry`',
)
LONGEST = 600  # characters of a warning
_is_quiet = False


@contextmanager
def quiet() -> Iterator[None]:
    """Show warnings and errors alone, without those of `STACK_WARNINGS`."""
    from mmengine.logging import MMLogger  # it may be what is missing

    global _is_quiet
    before, _is_quiet = _is_quiet, True
    # For messages from before a runner makes its own logger.
    logger = MMLogger.get_current_instance()
    handlers = list(logger.handlers)
    quieten(logger)
    try:
        with warnings.catch_warnings():
            for text in STACK_WARNINGS:
                warnings.filterwarnings('ignore', re.escape(text))
            yield
    finally:
        _is_quiet = before
        logger.handlers = handlers


def is_quiet() -> bool:
    """Whether this happens inside of `quiet`."""
    return _is_quiet


def quieten(logger: logging.Logger) -> None:
    """Let a logger show warnings on the console; its file keeps all.

    Args:
        logger: One of MMEngine's: other processes than the first show errors
            alone, and still do.
    """
    for i, handler in enumerate(logger.handlers):
        if type(handler) is logging.StreamHandler:
            logger.handlers[i] = QuietHandler(handler.level, handler.filters)


class QuietHandler(logging.Handler):
    """Writes a warning as one plain line on stderr.

    Args:
        level: Of the handler whose place it takes.
        filters: Of that handler; one of them drops repeated warnings.
    """

    def __init__(self, level: int, filters: list) -> None:
        super().__init__(max(level, logging.WARNING))
        self.filters = [*filters, self._concerns_user]

    @staticmethod
    def _concerns_user(record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith(STACK_RECORDS)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; stderr is looked up now, a bar may stand there."""
        kind, text = record.levelname.lower(), record.getMessage()
        if len(text) > LONGEST:  # MMEngine lists every key that is left over
            text = f'{text[:LONGEST]} ... (the log file has all of it)'
        print(f'{kind}: {text}', file=sys.stderr, flush=True)
