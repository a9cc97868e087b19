"""Processes that begin with mmcar imported, which else takes seconds each.

A clean server imports it once; every process is forked from that server, so
that it knows nothing of the tests that ran before.
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

ROOT = Path(__file__).parents[1]
SERVER = multiprocessing.get_context('forkserver')
SERVER.set_forkserver_preload(['mmcar.cli', 'mmcar.apis', 'tests.toys'])


class Forked:
    """A call in a process of its own; its output goes to files.

    Args:
        target: What to call, a function of a module.
        args: Its arguments.
        cwd: Where; the repository by default.
        env: Changes of the environment.
    """

    def __init__(
        self,
        target: Callable,
        *args: object,
        cwd: Path | None = None,
        **env: str,
    ) -> None:
        self.folder = tempfile.TemporaryDirectory()
        env = {**os.environ, 'OMP_NUM_THREADS': '1', **env}
        given = (self.folder.name, str(cwd or ROOT), env, target, args)
        self.process = SERVER.Process(target=_call, args=given)
        self.process.start()

    def finish(self, timeout: float = 600) -> CompletedProcess:
        """Wait for it; what it said and its exit code."""
        self.process.join(timeout)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        said = [Path(self.folder.name, n).read_text() for n in ('out', 'err')]
        code = self.process.exitcode
        self.folder.cleanup()
        return CompletedProcess((), code, *said)


def _call(
    folder: str, cwd: str, env: dict, target: Callable, args: tuple
) -> None:
    for number, name in ((1, 'out'), (2, 'err')):
        os.dup2(os.open(f'{folder}/{name}', os.O_WRONLY | os.O_CREAT), number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    multiprocessing.set_start_method(None, force=True)  # as in a new one
    target(*args)


def run_script(*argv: str) -> None:
    """Run a script as ``python SCRIPT ARGUMENTS`` does."""
    sys.argv = list(argv)
    more = os.environ.get('PYTHONPATH', '').split(os.pathsep)
    sys.path[:0] = [str(Path(argv[0]).resolve().parent), *filter(None, more)]
    runpy.run_path(argv[0], run_name='__main__')


def run(
    script: Path | str, *args: object, cwd: Path | None = None
) -> CompletedProcess:
    """Run a script as a user would, from the repository or ``cwd``."""
    argv = (str(script), *map(str, args))
    return Forked(run_script, *argv, cwd=cwd).finish()


def run_fresh(
    script: Path | str, *args: object, cwd: Path | None = None
) -> CompletedProcess:
    """The same in a process that has imported nothing yet."""
    return subprocess.run(
        [sys.executable, str(script), *map(str, args)],
        capture_output=True,
        text=True,
        cwd=cwd or ROOT,
        env={**os.environ, 'OMP_NUM_THREADS': '1'},
        timeout=600,
    )
