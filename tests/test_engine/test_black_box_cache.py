"""Predicting in other processes, and the times of what they write."""

import errno
import multiprocessing
import os
import signal
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import torch

from mmcar.datasets.transforms.black_box import cache_fault
from mmcar.engine import black_box_cache
from mmcar.engine.black_box_cache import (
    CachePlan,
    Worker,
    make_cache,
    predict_all,
)
from mmcar.utils import files
from mmcar.utils.errors import UserError


class Dies:
    """A worker that is killed, as by a system without memory."""

    black_box = SimpleNamespace(num_classes=2)

    def __init__(self, *args):
        pass

    def write(self, target, path):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_process_ends_the_run(tmp_path, monkeypatch):
    fork = multiprocessing.get_context('fork')
    monkeypatch.setattr(multiprocessing, 'get_context', lambda _: fork)
    monkeypatch.setattr(black_box_cache, 'Worker', Dies)
    plan = SimpleNamespace(
        black_box={},
        settings=dict(form='probs', scale=[4, 4], config='b.py'),
        metainfo=dict(classes=('a', 'b')),
        folder=tmp_path,
        imports=(),
    )
    todo = {tmp_path / f'{i}.npz': f'{i}.png' for i in range(4)}
    with pytest.raises(UserError, match='--jobs'):
        predict_all(plan, todo, jobs=2)


def test_an_image_from_the_future_where_times_are_coarse(
    tmp_path, monkeypatch
):
    image, target = tmp_path / 'a.png', tmp_path / 'a.npz'
    cv2.imwrite(str(image), np.zeros((4, 4, 3), np.uint8))
    os.utime(image, (2**32 + 1.5, 2**32 + 1.5))
    set_times = os.utime

    def in_steps_of_two_seconds(path, ns):
        set_times(path, ns=tuple(time - time % 2_000_000_000 for time in ns))

    monkeypatch.setattr(os, 'utime', in_steps_of_two_seconds)
    worker = object.__new__(Worker)
    worker.form, worker.size, worker.device = 'probs', (4, 4), 'cpu'
    worker.black_box = SimpleNamespace(
        predict_file=lambda tensor: (torch.full((2, 4, 4), 0.5), None)
    )
    worker.write(target, str(image))
    assert cache_fault(target, str(image)) is None


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """A cache of one image, and how often it was predicted."""
    (tmp_path / 'a.jpg').write_bytes(b'image')
    target = tmp_path / 'cache' / 'a.png'
    calls = []

    def predict(plan, todo, jobs):
        calls.append(todo)
        target.write_bytes(b'\0\0\0\0IEND\xaeB`\x82')
        return 0, 0

    monkeypatch.setattr(black_box_cache, 'predict_all', predict)
    monkeypatch.setattr(black_box_cache, 'LOOK_AGAIN', 0)
    settings = dict(config='b.py', form='labels', scale=[1, 1])
    images = {target: str(tmp_path / 'a.jpg')}
    return CachePlan(target.parent, {}, settings, images, {}), calls


def test_one_that_waits_takes_over(plan, monkeypatch):
    """Whoever filled it died: the lock is free, the cache incomplete."""
    plan, calls = plan
    outcomes = iter([files.InUseError('busy'), files.InUseError('busy')])
    claim = files.claim_folder

    def busy_at_first(folder):
        for error in outcomes:
            raise error
        return claim(folder)

    monkeypatch.setattr(black_box_cache, 'claim_folder', busy_at_first)
    make_cache(plan)
    assert len(calls) == 1 and not plan.faults()


def test_without_locks_it_is_refused(plan, monkeypatch):
    plan, calls = plan

    def lockf(*args):
        raise OSError(errno.ENOLCK, 'No locks available')

    monkeypatch.setattr(files.fcntl, 'lockf', lockf)
    with pytest.raises(UserError, match='cache cannot be locked'):
        make_cache(plan)
    assert not calls


def test_an_image_that_stays_newer_is_predicted_once(plan):
    """A file system may ignore what times a file is given."""
    plan, calls = plan
    (image,) = plan.images.values()
    os.utime(image, (2**32, 2**32))
    make_cache(plan)
    assert len(calls) == 1 and plan.faults()
