"""Running a command, and what it takes."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmcar.utils.errors import UserError

LOOK_EVERY = 0.5  # seconds


@dataclass
class Cost:
    """What a command took.

    Attributes:
        minutes: On the clock.
        processor_minutes: Of all processors and processes together.
        memory_mb: Peak resident memory of its largest process, as seen
            twice a second (Linux only).
    """

    minutes: float
    processor_minutes: float
    memory_mb: float

    def __add__(self, other: 'Cost') -> 'Cost':
        return Cost(
            self.minutes + other.minutes,
            self.processor_minutes + other.processor_minutes,
            max(self.memory_mb, other.memory_mb),
        )


def run_measured(
    command: Sequence[object],
    folder: Path,
    log: Path,
    kill_when: Callable[[], bool] | None = None,
) -> Cost:
    """Run a command to its end, or kill it.

    Args:
        command: Program and arguments.
        folder: Where it runs.
        log: File that its output is added to.
        kill_when: Asked again and again; once true, the command and all of its
            processes are killed, as by a failing machine.

    Raises:
        UserError: The command failed.
    """
    start = time.monotonic()
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, 'ab') as file:
        process = subprocess.Popen(
            [*map(str, command)],
            cwd=folder,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    killed, memory_mb = False, 0.0
    try:
        while True:
            memory_mb = max(memory_mb, peak_mb(process.pid))
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            if not killed and kill_when is not None and kill_when():
                os.killpg(process.pid, signal.SIGKILL)
                killed = True
            time.sleep(LOOK_EVERY)
    except KeyboardInterrupt:
        os.killpg(process.pid, signal.SIGTERM)
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode and not killed:
        raise UserError(f'{" ".join(map(str, command))} failed: see {log}.')
    return Cost(
        minutes=(time.monotonic() - start) / 60,
        processor_minutes=(usage.ru_utime + usage.ru_stime) / 60,
        memory_mb=memory_mb,
    )


def peak_mb(session: int) -> float:
    """Largest peak so far of the processes of a session.

    The peak that `os.wait4` tells is at least that of the caller, whose pages
    a new process has until it becomes another program.
    """
    peaks = [0.0]
    for folder in Path('/proc').glob('[0-9]*'):
        try:
            if os.getsid(int(folder.name)) != session:
                continue
            lines = (folder / 'status').read_text().splitlines()
        except OSError:  # it has ended in the meantime
            continue
        peaks += [
            int(line.split()[1]) / 1024
            for line in lines
            if line.startswith('VmHWM')
        ]
    return max(peaks)


def size_mb(*paths: Path) -> float:
    """Size of files and folders on disk; links count nothing."""
    files = [
        file
        for path in paths
        for file in ([path] if path.is_file() else path.rglob('*'))
        if file.is_file() and not file.is_symlink()
    ]
    return sum(file.stat().st_size for file in files) / 1e6
