"""Processor time of several versions of one thing, measured in turns."""

import ctypes
import gc
import os
import platform
import statistics
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import mmcv
import mmengine
import mmseg
import numpy as np
import torch

from projects.commit import current_commit

PACKAGES = (torch, np, mmengine, mmcv, mmseg)
M_MMAP_THRESHOLD = -3  # of glibc's mallopt


def processor_seconds(call: Callable[[], object]) -> float:
    """Processor seconds of one call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def alternate(
    versions: dict[str, Callable[[], object]], repeats: int
) -> dict[str, float]:
    """Median processor seconds of each version, called in turns.

    A first call of each warms it up and is not counted.
    """
    seconds: dict[str, list[float]] = {name: [] for name in versions}
    for turn in range(repeats + 1):
        for name, call in versions.items():
            own = processor_seconds(call)
            if turn:
                seconds[name].append(own)
    return {name: statistics.median(s) for name, s in seconds.items()}


def compare(
    case: str,
    versions: dict[str, Callable[[], object]],
    repeats: int,
    parts: dict[str, int] | None = None,
) -> list[dict]:
    """Rows of a table: each version's time, and as a multiple of the first.

    Args:
        case: What is measured.
        versions: Calls by name, ours first.
        repeats: Turns.
        parts: Versions that do one of so many equal parts of the work.
    """
    seconds = alternate(versions, repeats)
    for name, number in (parts or {}).items():
        seconds[name] *= number
    ours = next(iter(seconds.values()))
    rows = []
    for version, own in seconds.items():
        rows.append(
            dict(
                case=case,
                version=version,
                seconds=own,
                times_ours=own / ours,
            )
        )
        print(f'  {case:44}{version:34}{own:9.3f} s{own / ours:8.2f} x')
    return rows


def machine() -> dict[str, str | int]:
    """What figures depend on."""
    name = platform.processor() or platform.machine()
    try:
        with open('/proc/cpuinfo') as file:
            models = [line for line in file if line.startswith('model name')]
        name = models[0].split(':')[1].strip() if models else name
    except FileNotFoundError:
        pass  # not Linux: the general name has to do
    return dict(
        processor=name,
        cores=os.cpu_count() or 1,
        threads=torch.get_num_threads(),
        python=platform.python_version(),
        **{package.__name__: package.__version__ for package in PACKAGES},
        commit=current_commit(Path(__file__).parents[3]) or 'not known',
        date=date.today().isoformat(),
    )


def free_at_once() -> None:
    """Have the C library give every freed tensor back to the system.

    Fragments, which grow with the number of calls, are not what is measured.
    To be called before the first large tensor of a process.
    """
    ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 2**16)


def resident(key: str) -> float:
    """Megabytes of this process now, `VmRSS`, or at its peak, `VmHWM`."""
    lines = Path('/proc/self/status').read_text().splitlines()
    found = next(line for line in lines if line.startswith(f'{key}:'))
    return int(found.split()[1]) / 1024


def forget_peak() -> float:
    """Reset the kernel's record of the peak; return the megabytes now.

    What was freed before is given back first: a version that takes it again
    would seem to need nothing.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path('/proc/self/clear_refs').write_text('5')
    return resident('VmRSS')
