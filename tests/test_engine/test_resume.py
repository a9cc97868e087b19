"""Whole runs: what is stopped and resumed equals what was never stopped."""

import signal

import torch

from tests.test_engine.runs import (
    PHASES,
    finish,
    phased,
    run_config,
    start,
    train,
    weights,
)

HOOKS = [
    dict(type='R1Hook', weight=1.0, interval=2),
    dict(type='NetworkEMAHook', network='generator', momentum=0.1),
]


def assert_same_checkpoints(a, b):
    """Equal networks, averages, optimisers and schedulers."""
    first, second = torch.load(a), torch.load(b)
    for key in ('state_dict', 'ema_state_dict', 'optimizer'):
        left, right = first[key], second[key]
        assert_same(left, right, key)
    assert first['param_schedulers'] == second['param_schedulers']


def assert_same(left, right, where):
    if isinstance(left, dict):
        assert left.keys() == right.keys(), where
        for key in left:
            assert_same(left[key], right[key], f'{where}.{key}')
    elif isinstance(left, (list, tuple)):
        assert len(left) == len(right), where
        for i, pair in enumerate(zip(left, right, strict=True)):
            assert_same(*pair, f'{where}[{i}]')
    elif isinstance(left, torch.Tensor):
        assert torch.equal(left, right), where
    else:
        assert left == right, where


def test_kill_and_resume_equals_an_uninterrupted_run(tmp_path):
    """Killed at 23, resumed at 20: inside D's rest, after the phase change.

    The interrupted run loads its data in other processes, which must not
    matter either.
    """
    straight, broken = tmp_path / 'straight', tmp_path / 'broken'
    uninterrupted = start(dict(work_dir=str(straight), custom_hooks=HOOKS))
    loader = run_config(tmp_path)['train_dataloader'] | dict(num_workers=2)
    common = dict(work_dir=str(broken), train_dataloader=loader)
    kill = [*HOOKS, dict(type='KillHook', after=23)]
    finish(start(common | dict(custom_hooks=kill)), -signal.SIGKILL)
    assert (broken / 'iter_20.pth').exists()
    finish(start(common | dict(custom_hooks=HOOKS, resume=True)))
    finish(uninterrupted)
    assert_same(weights(straight), weights(broken), 'final')
    assert_same_checkpoints(straight / 'iter_40.pth', broken / 'iter_40.pth')


def test_resuming_late_reads_no_earlier_data(tmp_path):
    loader = run_config(tmp_path)['train_dataloader']
    first, late = tmp_path / 'first', tmp_path / 'late'
    train(first)
    checkpoint = torch.load(first / 'iter_40.pth')
    checkpoint['meta']['iter'] = 100_000
    late.mkdir()
    torch.save(checkpoint, late / 'iter_100000.pth')
    visits = tmp_path / 'visits'
    loader['dataset'].update(visits=str(visits))
    phases = [PHASES[0], PHASES[1] | dict(iters=100_003 - 16)]
    loop = phased(*phases)
    train(late, train_dataloader=loader, train_cfg=loop, resume=True)
    assert len(visits.read_text().split()) == 3 * 2
