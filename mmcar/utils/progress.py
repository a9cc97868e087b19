"""A bar with an ETA on a terminal; elsewhere a line now and then."""

import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import TypeVar

import torch.distributed as dist
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column

#: Seconds between two lines where there is no terminal.
PAUSE = 30.0

Item = TypeVar('Item')


def is_main_process() -> bool:
    """Whether this is the only process, or the first of several."""
    joined = dist.is_available() and dist.is_initialized()
    return not joined or dist.get_rank() == 0


class ProgressBar(AbstractContextManager):
    """How far a stage is, on stderr, told by the main process alone.

    While it runs there is a bar, if stderr is a terminal, or a plain line
    every `PAUSE` seconds. When it is closed, one line remains.

    Args:
        title: Name of the stage.
        total: Steps of it.
        done: Steps done before.
    """

    def __init__(self, title: str, total: int, done: int = 0) -> None:
        self.title, self.total, self.done = title, total, done
        self.first, self.note = done, ''
        self.shown = is_main_process()
        self.start = self.last_line = time.monotonic()
        self.console = Console(stderr=True, highlight=False)
        self.live: Progress | None = None
        alive = self.console.is_terminal and not self.console.is_dumb_terminal
        if not (self.shown and alive):
            return
        whole = Column(no_wrap=True)
        cut = Column(no_wrap=True, ratio=1)  # what a narrow window loses
        self.live = Progress(
            TextColumn('{task.description}', table_column=whole),
            BarColumn(bar_width=20),
            MofNCompleteColumn(table_column=whole),
            TextColumn('{task.fields[left]}', table_column=whole),
            TextColumn('{task.fields[note]}', table_column=cut),
            console=self.console,
            transient=True,
            expand=True,
        )
        self.task = self.live.add_task(
            title, True, total, done, left='', note=''
        )
        self.live.start()

    def update(
        self, done: int, note: str = '', seconds_left: float | None = None
    ) -> None:
        """Tell how far it is.

        Args:
            done: Steps done.
            note: More about it, such as a loss.
            seconds_left: If something is known about it; by default the
                steps left take as long as those done.
        """
        self.done, self.note = done, note
        passed = time.monotonic() - self.start
        if seconds_left is None and done > self.first:
            each = passed / (done - self.first)
            seconds_left = each * (self.total - done)
        eta = '' if seconds_left is None else f'ETA {duration(seconds_left)}'
        left = joined(duration(passed), eta)
        if self.live is not None:
            self.live.update(self.task, completed=done, left=left, note=note)
        elif self.shown and time.monotonic() - self.last_line > PAUSE:
            self._print(left)

    def advance(self) -> None:
        """Count a further step."""
        self.update(self.done + 1, self.note)

    def pause(self) -> None:
        """Make room for another bar."""
        if self.live is not None:
            self.live.stop()

    def resume(self) -> None:
        """Be shown again."""
        if self.live is not None:
            self.live.start()

    def close(self) -> None:
        """Leave one line."""
        self.pause()
        if self.shown:
            self._print(duration(time.monotonic() - self.start))
            self.shown, self.live = False, None

    def _print(self, times: str) -> None:
        self.last_line = time.monotonic()
        title = f'  {self.title} {self.done}/{self.total}'
        line = joined(title, times, self.note)
        self.console.print(line, markup=False, soft_wrap=True)

    def __exit__(self, *error: object) -> None:
        self.close()


def joined(*parts: str) -> str:
    """Put the parts that say something into one line."""
    return ' · '.join(part for part in parts if part)


def duration(seconds: float) -> str:
    """Write a duration as hours, minutes and seconds."""
    return str(timedelta(seconds=round(max(seconds, 0.0))))


def track(
    items: Iterable[Item], title: str, total: int | None = None
) -> Iterator[Item]:
    """Go through items and show how far it is.

    Args:
        items: What to go through.
        title: Name of the stage.
        total: Their number, if they do not know it.
    """
    number = len(items) if total is None else total  # type: ignore[arg-type]
    with ProgressBar(title, number) as bar:
        for item in items:
            yield item
            bar.advance()
