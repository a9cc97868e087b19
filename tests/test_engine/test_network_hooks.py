import itertools
from types import SimpleNamespace

import pytest
import torch
from mmengine.hooks import Hook
from torch import nn

from mmcar import cli
from mmcar.engine import NetworkEMAHook, R1Hook, Schedule, r1_penalty
from tests.test_engine.runs import (
    ADAM,
    PHASES,
    build_runner,
    phased,
    recorded,
    run_config,
    scored,
    train,
)
from tests.toys import toy_config

SHORT = phased(
    dict(iters=4, train=['calibration', 'generator', 'discriminator'])
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

    loop = phased(*PHASES)
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
        **scored(dict(type='IoUMetric'), 'val', size=2),
    )
    runner.register_hook(Watch())
    runner.train()
    assert torch.equal(seen['validated'], seen['average'])
    assert torch.equal(seen['left'], seen['trained'])
    assert not torch.allclose(seen['average'], seen['trained'])


def test_refuses(tmp_path):
    for key, wrong in dict(weight=-1, interval=0, output='odds').items():
        with pytest.raises(ValueError, match=f'{key}={wrong!r}'):
            R1Hook(**{key: wrong})
    with pytest.raises(ValueError, match='momentum=0: expected more'):
        NetworkEMAHook(momentum=0)
    with pytest.raises(ValueError, match=r"network='teacher'.*calibration"):
        train(
            tmp_path,
            custom_hooks=[dict(type='NetworkEMAHook', network='teacher')],
        )


def test_a_test_after_a_training_with_the_hook_of_mmengine(tmp_path):
    """It makes its copy when a run begins, after weights are loaded."""
    settings = dict(train_cfg=SHORT, custom_hooks=[dict(type='EMAHook')])
    settings |= scored(dict(type='IoUMetric'), 'test')
    train(tmp_path, **settings)
    runner = build_runner(tmp_path, **settings)
    cli.load_checkpoint(runner, str(tmp_path / 'iter_4.pth'))
    assert 0 <= runner.test()['mIoU'] <= 100


class Critic(nn.Module):
    """D(x, y) = a * sum(x^2) + b * sum(x * y): its gradient is known."""

    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.tensor(0.7))
        self.b = nn.Parameter(torch.tensor(-0.4))

    def forward(self, image, label, mask=None):
        label = label if mask is None else label * mask
        return (self.a * image**2 + self.b * image * label).sum((1, 2, 3))


def inputs(size=4):
    generator = torch.Generator().manual_seed(0)
    image = torch.rand(3, 2, size, size, generator=generator)
    return image, torch.rand(3, 2, size, size, generator=generator)


@pytest.mark.parametrize('output', ['logit', 'probability'])
def test_penalty_equals_the_formula(output):
    """On the probability it is weaker where D is sure."""
    critic = Critic()
    image, label = inputs()
    expected = 0.0
    for x, y in zip(image, label, strict=True):
        logit = (critic.a * x**2 + critic.b * x * y).sum()
        slope = logit.exp() / (1 + logit.exp()) ** 2  # of the sigmoid
        slope = slope if output == 'probability' else 1
        by_image = slope * (2 * critic.a * x + critic.b * y)
        by_label = slope * critic.b * x
        expected = expected + (by_image**2).sum() + (by_label**2).sum()
    penalty = r1_penalty(critic, image, label, output=output)
    torch.testing.assert_close(penalty, expected / 3)
    torch.testing.assert_close(
        torch.autograd.grad(penalty, critic.parameters()),
        torch.autograd.grad(expected / 3, critic.parameters()),
    )
    assert not image.requires_grad


def test_ignored_pixels_are_not_penalised():
    critic = Critic()
    image, label = inputs()
    mask = torch.ones(3, 1, 4, 4)
    mask[:, :, 0] = 0
    outside = (critic.b * image[:, :, 0]) ** 2  # what the label's rows add
    by_image = (2 * critic.a * image + critic.b * label * mask) ** 2
    by_label = (critic.b * image) ** 2
    expected = (by_image.sum() + by_label.sum() - outside.sum()) / 3
    with torch.no_grad():  # it needs gradients all the same
        found = r1_penalty(critic, image, label, mask)
    torch.testing.assert_close(found, expected)
    assert found.requires_grad


def fake_runner(phases):
    model = SimpleNamespace(discriminator_regularizers=[])
    loop = SimpleNamespace(schedule=Schedule(phases))
    return SimpleNamespace(model=model, train_loop=loop, iter=0)


@pytest.mark.parametrize('output', ['logit', 'probability'])
def test_lazy_penalty_follows_the_updates_of_d(output):
    phase = dict(iters=20, train=['discriminator'])
    phase['cycles'] = dict(discriminator=(3, 2))
    runner = fake_runner([phase])
    hook = R1Hook(weight=4.0, interval=2, output=output)
    hook.before_train(runner)
    (regularize,) = runner.model.discriminator_regularizers
    critic, pair = Critic(), inputs()
    plain = r1_penalty(critic, *pair, output=output)
    due = []
    for runner.iter in range(20):
        losses = regularize(critic, *pair, None)
        if losses:
            due.append(runner.iter)
            torch.testing.assert_close(losses['loss_r1'], 8.0 * plain)
    on = [i for i in range(20) if i % 5 < 3]
    assert [i for i in due if i in on] == on[::2]
    hook.after_train(runner)
    assert runner.model.discriminator_regularizers == []
