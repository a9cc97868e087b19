"""Commands run, are killed, and what they took is known."""

import sys
import time

import pytest

from mmcar.utils.errors import UserError

from ..synthetic_cityscapes.measuring import Cost, run_measured, size_mb

FILL = 'x = bytearray(b"1") * 300_000_000; import time; t = time.time()\n'
FILL += 'while time.process_time() < 1.5: pass\n'


def python(code):
    return [sys.executable, '-c', code]


def test_memory_and_processor_time_of_a_command(tmp_path):
    cost = run_measured(python(FILL), tmp_path, tmp_path / 'a.log')
    assert 280 < cost.memory_mb < 600
    assert 1.5 < 60 * cost.processor_minutes < 6
    assert cost.minutes >= 0.5 * cost.processor_minutes


def test_output_goes_to_the_log_and_errors_name_it(tmp_path):
    log = tmp_path / 'logs' / 'b.log'
    run_measured(python('print(12 * 12)'), tmp_path, log)
    assert log.read_text() == '144\n'
    with pytest.raises(UserError, match=r'exit\(3\).*b\.log'):
        run_measured(python('exit(3)'), tmp_path, log)


def test_a_command_and_its_children_are_killed(tmp_path):
    ready = tmp_path / 'ready'
    child = f'import time, pathlib; pathlib.Path({str(ready)!r}).touch();'
    child += f'time.sleep(6); pathlib.Path({str(tmp_path / "late")!r}).touch()'
    code = 'import subprocess, sys;'
    code += f'subprocess.run([sys.executable, "-c", {child!r}])'
    start = time.monotonic()
    run_measured(python(code), tmp_path, tmp_path / 'c.log', ready.exists)
    taken = time.monotonic() - start
    time.sleep(max(0, 7 - taken))
    assert ready.exists() and not (tmp_path / 'late').exists()


def test_costs_add_up():
    both = Cost(1, 2, 30) + Cost(10, 20, 3)
    assert both == Cost(11, 22, 30)


def test_sizes_without_links(tmp_path):
    (tmp_path / 'a/b').mkdir(parents=True)
    (tmp_path / 'a/b/x').write_bytes(b'1' * 2_000_000)
    (tmp_path / 'a/y').symlink_to(tmp_path / 'a/b/x')
    (tmp_path / 'z').write_bytes(b'1' * 500_000)
    assert size_mb(tmp_path / 'a') == 2
    assert size_mb(tmp_path / 'a', tmp_path / 'z') == 2.5
