import os
import signal
import subprocess
import sys
import time

import pytest

from mmcar.utils.errors import UserError

from ..project import ROOT
from ..scripts import load_script

processes = load_script('dataset_converters/processes.py')
default_jobs, process_map = processes.default_jobs, processes.process_map
PARENT = f"""
import sys
import time

sys.path.insert(0, {str(ROOT / 'tools/dataset_converters')!r})
from processes import process_map

def wait(_):
    print('waits', flush=True)
    time.sleep(60)

with process_map(2) as run:
    list(run(wait, [0]))
"""


def slow_first(number):
    time.sleep(0.2 * (number == 0))
    return number, os.getpid()


def refuse(number):
    raise UserError(f'{number}: expected another')


def test_results_come_in_order_from_other_processes():
    with process_map(2) as run:
        numbers, processes = zip(*run(slow_first, range(5)), strict=True)
    assert numbers == (0, 1, 2, 3, 4)
    assert os.getpid() not in processes and len(set(processes)) == 2


def test_one_job_is_this_process():
    with process_map(1) as run:
        assert list(run(slow_first, [7])) == [(7, os.getpid())]


@pytest.mark.parametrize('jobs', [1, 2])
def test_an_error_is_raised_as_it_was(jobs):
    with (
        pytest.raises(UserError, match=r'^3: expected another$'),
        process_map(jobs) as run,
    ):
        list(run(refuse, [3]))


def test_processes_end_with_a_parent_that_is_killed():
    command = [sys.executable, '-c', PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        run.stdout.readline()  # a process is at work
        start = time.monotonic()
        run.send_signal(signal.SIGKILL)
        # The pipe ends once no process has it open.
        assert run.stdout.read() == ''
    assert time.monotonic() - start < 30


def test_jobs_by_default():
    assert 1 <= default_jobs() <= 8
