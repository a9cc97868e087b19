import os
import random
import subprocess
import sys
import time

import pytest
import torch
from mmengine.evaluator import BaseMetric
from mmseg.registry import METRICS

from mmcar.engine import find_resumable_checkpoint
from mmcar.engine.hooks import checkpoint_hook
from mmcar.engine.hooks.checkpoint_hook import WholeFileBackend, is_whole
from tests.test_engine.runs import ROOT, build_runner, run_config, train

CHECKPOINT = run_config('x')['default_hooks']['checkpoint']


@METRICS.register_module()
class ScriptedScore(BaseMetric):
    """Returns given scores one after the other."""

    default_prefix = None

    def __init__(self, scores):
        super().__init__()
        self.scores = list(scores)

    def process(self, data_batch, data_samples):
        self.results.append(0)

    def compute_metrics(self, results):
        return dict(score=self.scores.pop(0))


def names(folder):
    return sorted(path.name for path in folder.glob('*.pth*'))


def checkpoint(folder, number):
    path = folder / f'iter_{number}.pth'
    torch.save(dict(weight=torch.arange(1000.0)), path)
    return path


def test_finds_the_newest_whole_one(tmp_path):
    assert find_resumable_checkpoint(tmp_path) is None
    for number in (900, 1000, 1100):
        checkpoint(tmp_path, number)
    checkpoint(tmp_path, 2000).rename(tmp_path / 'best_GED_iter_2000.pth')
    checkpoint(tmp_path, 3000).rename(tmp_path / 'iter_3000-12345678.pth')
    checkpoint(tmp_path, 4000).rename(tmp_path / 'iter_4000.pth.part')
    assert find_resumable_checkpoint(tmp_path).name == 'iter_1100.pth'
    newest = tmp_path / 'iter_1100.pth'
    content = newest.read_bytes()
    for broken in (b'', content[:100], content[:-10]):
        newest.write_bytes(broken)
        assert find_resumable_checkpoint(tmp_path).name == 'iter_1000.pth'
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    newest.write_bytes(flipped)
    assert not is_whole(newest)
    newest.write_bytes(content)
    assert is_whole(newest)


def test_keeps_the_old_until_the_new_is_whole(tmp_path, monkeypatch):
    """A crash while iter_30 is written leaves 10 and 20 as they were."""
    replace = os.replace

    def crash(source, target):
        if str(target).endswith('iter_30.pth'):
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(checkpoint_hook.os, 'replace', crash)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path)
    assert names(tmp_path) == [
        'iter_10.pth',
        'iter_20.pth',
        'iter_30.pth.part',
    ]
    assert (tmp_path / 'last_checkpoint').read_text() == str(
        tmp_path / 'iter_20.pth'
    )
    monkeypatch.undo()
    runner = train(tmp_path, resume=True)
    assert runner._load_from == str(tmp_path / 'iter_20.pth')
    assert names(tmp_path) == ['iter_30.pth', 'iter_40.pth']


def test_resumes_before_a_damaged_checkpoint(tmp_path):
    train(tmp_path)
    newest = tmp_path / 'iter_40.pth'
    newest.write_bytes(newest.read_bytes()[:-100])
    runner = build_runner(tmp_path, resume=True)
    runner.call_hook('before_run')
    assert runner._load_from == str(tmp_path / 'iter_30.pth')


def test_starts_over_where_nothing_is_whole(tmp_path):
    (tmp_path / 'iter_10.pth').write_bytes(b'x')
    (tmp_path / 'last_checkpoint').write_text(str(tmp_path / 'iter_10.pth'))
    runner = train(tmp_path, resume=True)
    assert runner.iter == 40


def test_best_checkpoint(tmp_path, monkeypatch):
    loader = run_config(tmp_path)['train_dataloader']
    loader = loader | dict(sampler=dict(type='DefaultSampler', shuffle=False))
    loop = run_config(tmp_path)['train_cfg'] | dict(val_interval=10)
    hooks = run_config(tmp_path)['default_hooks']
    hooks['checkpoint'] = CHECKPOINT | dict(save_best='score', rule='greater')
    present = []
    put = WholeFileBackend.put

    def spy(self, obj, filepath):
        put(self, obj, filepath)
        present.append([n for n in names(tmp_path) if n.startswith('best')])

    monkeypatch.setattr(WholeFileBackend, 'put', spy)
    train(
        tmp_path,
        train_cfg=loop,
        val_dataloader=loader,
        val_cfg=dict(type='ValLoop'),
        val_evaluator=dict(type='ScriptedScore', scores=[1, 3, 2, 4]),
        default_hooks=hooks,
    )
    best = [f'best_score_iter_{n}.pth' for n in (10, 20, 40)]
    assert names(tmp_path) == [best[2], 'iter_30.pth', 'iter_40.pth']
    # From the first best on there was never a moment without one.
    first = next(i for i, found in enumerate(present) if found)
    assert all(present[first:])
    assert best[:2] in present


def test_refuses_remote_storage(tmp_path):
    hooks = run_config(tmp_path)['default_hooks']
    hooks['checkpoint'] = CHECKPOINT | dict(backend_args=dict(backend='local'))
    with pytest.raises(ValueError, match='backend_args='):
        train(tmp_path, default_hooks=hooks)


WRITER = """
import io, sys, torch
from mmcar.engine.hooks.checkpoint_hook import WholeFileBackend
print('ready', flush=True)
number = 0
while True:
    number += 1
    file = io.BytesIO()
    torch.save(dict(number=number, weight=torch.rand(300_000)), file)
    WholeFileBackend().put(file.getvalue(), sys.argv[1])
"""


def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path):
    path = tmp_path / 'iter_1.pth'
    rng = random.Random(0)
    process = subprocess.Popen(
        [sys.executable, '-c', WRITER, str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )
    process.stdout.readline()
    while not path.exists():
        time.sleep(0.01)
    # Look at it at many moments, the last of them after the kill.
    for last in [False] * 20 + [True]:
        time.sleep(rng.uniform(0, 0.05))
        if last:
            process.kill()
            process.wait()
        assert torch.load(path)['weight'].shape == (300_000,)
    assert is_whole(path)
