import errno
import os
import subprocess
import sys
import threading

import pytest

from mmcar.utils import files as module
from mmcar.utils.background import BackgroundWriter
from mmcar.utils.errors import UserError


def content(path):
    """A file that holds its own name."""
    return {path: path.name.encode}


def test_all_is_written_when_it_finishes_and_again_afterwards(tmp_path):
    writer = BackgroundWriter(waiting=2)
    for turn in range(2):
        paths = [tmp_path / f'{turn}' / f'{i}.png' for i in range(9)]
        for path in paths:
            writer.submit(content(path))
        writer.finish()
        assert [p.read_text() for p in paths] == [p.name for p in paths]


def test_work_goes_on_while_files_wait_and_waits_where_too_many_do(tmp_path):
    gate, submitted = threading.Event(), []
    writer = BackgroundWriter(waiting=3)

    def work():
        for i in range(5):
            writer.submit({tmp_path / f'{i}': lambda: b'%d' % gate.wait(60)})
            submitted.append(i)

    worker = threading.Thread(target=work)
    worker.start()
    worker.join(0.5)
    assert worker.is_alive() and submitted == [0, 1, 2]
    gate.set()
    worker.join(60)
    assert submitted == [0, 1, 2, 3, 4]
    writer.finish()


def full_disk(descriptor):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_told_with_the_file_and_leaves_no_part(
    tmp_path, monkeypatch
):
    writer = BackgroundWriter()
    writer.submit(content(tmp_path / 'first.png'))
    writer.finish()
    monkeypatch.setattr(module.os, 'fsync', full_disk)
    writer.submit(content(tmp_path / 'second.png'))
    with pytest.raises(UserError, match=r'second\.png.*No space left') as info:
        writer.finish()
    assert isinstance(info.value.__cause__, OSError)
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ['first.png']


def test_an_error_stops_the_work_and_what_waits(tmp_path):
    def fail():
        raise PermissionError(errno.EACCES, 'Permission denied', 'a')

    writer = BackgroundWriter(waiting=2)
    with pytest.raises(UserError, match='0 cannot be written: Permission'):
        for i in range(5):
            path = tmp_path / f'{i}'
            writer.submit(content(path) if i else {path: fail})
    writer.finish()
    assert not list(tmp_path.iterdir())


def test_a_bug_keeps_its_type(tmp_path):
    writer = BackgroundWriter()
    writer.submit({tmp_path / 'a': lambda: 1 / 0})
    with pytest.raises(ZeroDivisionError):
        writer.finish()


def test_what_was_handed_over_outlives_a_crash_of_the_work(tmp_path):
    script = f"""
import time
from pathlib import Path
from mmcar.utils.background import BackgroundWriter

def slowly():
    time.sleep(0.2)
    return b"whole"

writer = BackgroundWriter()
for name in "ab":
    writer.submit({{Path({str(tmp_path)!r}) / name: slowly}})
raise RuntimeError("the work failed")
"""
    done = subprocess.run(
        [sys.executable, '-c', script], capture_output=True, text=True
    )
    assert done.returncode == 1 and 'the work failed' in done.stderr
    found = {p.name: p.read_text() for p in tmp_path.iterdir()}
    assert found == dict(a='whole', b='whole')
