import errno
import multiprocessing
import os
import threading
import time

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


def test_a_full_disk_stops_what_waits_and_leaves_no_part(
    tmp_path, monkeypatch
):
    def full_disk(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    writer = BackgroundWriter()
    writer.submit(content(tmp_path / 'first.png'))
    writer.finish()
    monkeypatch.setattr(module.os, 'fsync', full_disk)
    for name in ('second.png', 'third.png'):
        writer.submit(content(tmp_path / name))
    with pytest.raises(UserError, match=r'second\.png.*No space'):
        writer.finish()
    monkeypatch.undo()
    writer.finish()
    assert [p.name for p in tmp_path.iterdir()] == ['first.png']


def test_a_bug_keeps_its_type(tmp_path):
    writer = BackgroundWriter()
    writer.submit({tmp_path / 'a': lambda: 1 / 0})
    with pytest.raises(ZeroDivisionError):
        writer.finish()


def slow_work(folder):
    def slowly():
        time.sleep(0.2)
        return b'whole'

    writer = BackgroundWriter()
    for name in 'ab':
        writer.submit({folder / name: slowly})
    raise RuntimeError('the work failed')


def test_what_was_handed_over_outlives_a_crash_of_the_work(tmp_path):
    fork = multiprocessing.get_context('fork')
    process = fork.Process(target=slow_work, args=(tmp_path,))
    process.start()
    process.join(60)
    assert process.exitcode == 1
    found = {p.name: p.read_text() for p in tmp_path.iterdir()}
    assert found == dict(a='whole', b='whole')
