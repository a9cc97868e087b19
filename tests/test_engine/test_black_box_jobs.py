"""Predicting in other processes, and the times of what they write."""

import multiprocessing
import os
import signal
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import torch

from mmcar.datasets.black_box_cache import cache_fault
from mmcar.engine import black_box_jobs
from mmcar.engine.black_box_jobs import Worker, predict_all
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
    monkeypatch.setattr(black_box_jobs, 'Worker', Dies)
    plan = SimpleNamespace(
        black_box={},
        settings=dict(form='probs', scale=[4, 4], config='b.py'),
        metainfo=dict(classes=('a', 'b')),
        folder=tmp_path,
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
