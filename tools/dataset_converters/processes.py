"""Work that several processes share."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process

import cv2

MOST_JOBS = 8
"""Processes by default, at most: writing files does not grow with more."""


def default_jobs() -> int:
    """One process per core, within reason."""
    return min(MOST_JOBS, os.cpu_count() or 1)


@contextmanager
def process_map(jobs: int) -> Iterator[Callable]:
    """A ``map`` by several processes, whose results come in order.

    Args:
        jobs: Number of processes; 1 is this one.

    Yields:
        What to call as ``map``. What it is given and what comes back must
        be picklable; an error in a process is raised here.
    """
    if jobs == 1:
        yield map
        return
    cv2.setNumThreads(0)  # its threads do not outlive a fork
    linux = sys.platform == 'linux'
    context = get_context('fork' if linux else None)
    with ProcessPoolExecutor(jobs, context, _follow_parent) as pool:
        yield pool.map


def _follow_parent() -> None:
    """End with the parent, and leave Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait() -> None:
        if parent := parent_process():
            parent.join()
        os._exit(1)  # it was killed: there is nobody to tell

    threading.Thread(target=wait, daemon=True).start()
