import itertools
from types import SimpleNamespace

import pytest
import torch
from mmengine.hooks import Hook

from mmcar import cli
from mmcar.engine import NetworkEMAHook, Schedule
from tests.test_engine.runs import (
    ADAM,
    PHASES,
    build_runner,
    recorded,
    run_config,
    train,
)
from tests.toys import toy_config

SHORT = dict(
    type='AlternatingTrainLoop',
    phases=[
        dict(iters=4, train=['calibration', 'generator', 'discriminator'])
    ],
)


def average(runner):
    """The hook's average of the parameters, as one vector."""
    hook = next(h for h in runner.hooks if isinstance(h, NetworkEMAHook))
    network = runner.model.networks()[hook.network]
    names = [name for name, _ in network.named_parameters()]
    return torch.cat([hook.average[name].flatten() for name in names])


@pytest.mark.parametrize('begin', [0, 5])
def test_equals_a_plain_recursion(tmp_path, begin):
    ema = dict(type='NetworkEMAHook', momentum=0.2, begin=begin)
    runner = train(tmp_path, custom_hooks=[ema, dict(type='RecordHook')])
    states = [s['generator'] for s in recorded(runner).states]
    expected, updates = states[15], 0
    for iteration, state in enumerate(states):
        if 'generator' in Schedule(PHASES).active(iteration):
            share = 0.2 if updates >= begin else 1.0
            expected = (1 - share) * expected + share * state
            updates += 1
    torch.testing.assert_close(average(runner), expected)
    assert not torch.allclose(expected, states[-1])

    # The checkpoint offers the average and keeps the raw weights.
    checkpoint = torch.load(tmp_path / 'iter_40.pth')
    prefix = 'decode_head.generator.'
    names = [
        n for n, _ in runner.model.decode_head.generator.named_parameters()
    ]
    for key, vector in (
        ('state_dict', average(runner)),
        ('ema_state_dict', states[-1]),
    ):
        saved = [checkpoint[key][prefix + name].flatten() for name in names]
        assert torch.equal(torch.cat(saved), vector)
    for key, tensor in runner.model.state_dict().items():
        if not key.startswith(prefix):
            assert torch.equal(checkpoint['state_dict'][key], tensor)


@pytest.mark.parametrize('cause', ['skipped', 'paused', 'accumulated'])
def test_rests_where_no_step_is_made(tmp_path, cause):
    network = 'discriminator' if cause == 'paused' else 'calibration'
    optims = run_config(tmp_path)['optim_wrapper']
    if cause == 'accumulated':
        optims['calibration'] = dict(optimizer=ADAM, accumulative_counts=2)
    seen = []

    class Watch(Hook):
        priority = 'LOWEST'

        def after_train_iter(self, runner, batch_idx, **kwargs):
            seen.append(average(runner).clone())

    loop = dict(type='AlternatingTrainLoop', phases=PHASES)
    if cause == 'paused':
        loop.update(max_discriminator_accuracy=0.0)
    runner = build_runner(
        tmp_path,
        model=toy_config(nonfinite='skip'),
        train_cfg=loop,
        optim_wrapper=optims,
        custom_hooks=[
            dict(type='NetworkEMAHook', network=network, momentum=0.2),
            dict(type='PoisonHook', at=5),
            dict(type='RecordHook'),
        ],
    )
    runner.register_hook(Watch())
    runner.train()
    moved = [
        not torch.equal(one, other) for one, other in itertools.pairwise(seen)
    ]
    changed = [network in names for names in recorded(runner).changed[1:]]
    assert moved == changed
    assert 0 < sum(moved) < 23


def test_a_validation_loop_sees_the_average_and_training_does_not(tmp_path):
    seen = {}

    class Watch(Hook):
        priority = 'LOWEST'

        def _now(self, runner):
            network = runner.model.decode_head.generator
            raw = [p.detach().flatten() for p in network.parameters()]
            return torch.cat(raw).clone()

        def after_train_iter(self, runner, **kwargs):
            seen['trained'] = self._now(runner)
            seen['average'] = average(runner).clone()

        def after_val_iter(self, runner, **kwargs):
            seen['validated'] = self._now(runner)

        def after_train(self, runner):
            seen['left'] = self._now(runner)

    runner = build_runner(
        tmp_path,
        custom_hooks=[dict(type='NetworkEMAHook', momentum=0.2)],
        val_dataloader=dict(
            batch_size=2,
            num_workers=0,
            sampler=dict(type='DefaultSampler', shuffle=False),
            dataset=dict(type='RandomMaps', size=2),
        ),
        val_cfg=dict(type='ValLoop'),
        val_evaluator=dict(type='IoUMetric'),
    )
    runner.register_hook(Watch())
    runner.train()
    assert torch.equal(seen['validated'], seen['average'])
    assert torch.equal(seen['left'], seen['trained'])
    assert not torch.allclose(seen['average'], seen['trained'])


def test_refuses(tmp_path):
    with pytest.raises(ValueError, match='momentum=0: expected more'):
        NetworkEMAHook(momentum=0)
    with pytest.raises(ValueError, match=r"network='teacher'.*calibration"):
        train(
            tmp_path,
            custom_hooks=[dict(type='NetworkEMAHook', network='teacher')],
        )


def test_a_test_after_a_training_with_the_hook_of_mmengine(tmp_path):
    """It makes its copy when a run begins, after weights are loaded."""
    loader = run_config(tmp_path)['train_dataloader']
    settings = dict(
        train_cfg=SHORT,
        custom_hooks=[dict(type='EMAHook')],
        test_dataloader=loader | dict(sampler=dict(type='DefaultSampler')),
        test_cfg=dict(type='TestLoop'),
        test_evaluator=dict(type='IoUMetric'),
    )
    train(tmp_path, **settings)
    runner = build_runner(tmp_path, **settings)
    cli.load_checkpoint(runner, str(tmp_path / 'iter_4.pth'))
    assert 0 <= runner.test()['mIoU'] <= 100


def test_a_test_needs_no_such_network():
    """A sampler without weights may take G's place in a trained config."""
    hook = NetworkEMAHook('generator')
    runner = SimpleNamespace(_train_loop=None)
    hook.before_run(runner)
    hook.before_test_epoch(runner)
    hook.after_test_epoch(runner)
    assert hook.average is None
