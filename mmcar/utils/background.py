"""Files written while the work goes on."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from .errors import UserError
from .files import write_files

#: Images whose files may wait: memory stays bounded, and a slow disk makes the
#: work wait in place of losing anything.
WAITING = 8


class BackgroundWriter:
    """Writes files in a thread of its own, in the order they come.

    An error comes up at the next call, and names the file. Should the work
    itself fail, what was handed over before is still written: the interpreter
    waits for it at its end.

    Args:
        waiting: Calls that may wait before :meth:`submit` does.
    """

    def __init__(self, waiting: int = WAITING) -> None:
        self.waiting = waiting
        self._thread = ThreadPoolExecutor(1, 'writer')
        self._pending: deque[Future] = deque()
        self._failed = False

    def submit(self, files: dict[Path, Callable[[], bytes]]) -> None:
        """Have files written.

        Args:
            files: For each path, what makes its content. It is called in the
                thread, so nothing it reads may change afterwards.
        """
        self._collect(self.waiting - 1)
        self._pending.append(self._thread.submit(self._write, files))

    def finish(self) -> None:
        """Return once everything is written, or raise what went wrong."""
        self._collect(0)

    def _collect(self, number: int) -> None:
        """Wait until so many calls are left; raise the error of a call."""
        while self._pending and (
            len(self._pending) > number or self._pending[0].done()
        ):
            self._pending.popleft().result()

    def _write(self, files: dict[Path, Callable[[], bytes]]) -> None:
        if self._failed:
            return  # the first error is raised; its followers say no more
        try:
            write_files((path, content()) for path, content in files.items())
        except BaseException as error:
            self._failed = True
            if not isinstance(error, OSError):
                raise
            raise UserError(
                f'{error.filename} cannot be written: {error.strerror}. '
                'Files written before are whole: choose another folder.'
            ) from error
