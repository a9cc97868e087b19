from types import SimpleNamespace

import pytest
import torch
from torch import nn

from mmcar.engine import R1Hook, Schedule, r1_penalty


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


def test_penalty_equals_the_formula():
    critic = Critic()
    image, label = inputs()
    expected = 0.0
    for x, y in zip(image, label, strict=True):
        by_image = 2 * critic.a * x + critic.b * y
        by_label = critic.b * x
        expected = expected + (by_image**2).sum() + (by_label**2).sum()
    penalty = r1_penalty(critic, image, label)
    torch.testing.assert_close(penalty, expected / 3)
    torch.testing.assert_close(
        torch.autograd.grad(penalty, critic.parameters()),
        torch.autograd.grad(expected / 3, critic.parameters()),
    )
    assert not image.requires_grad


def test_on_the_probability_it_is_weaker_where_d_is_sure():
    critic = Critic()
    image, label = inputs()
    expected = 0.0
    for x, y in zip(image, label, strict=True):
        logit = (critic.a * x**2 + critic.b * x * y).sum()
        slope = logit.exp() / (1 + logit.exp()) ** 2  # of the sigmoid
        by_image = slope * (2 * critic.a * x + critic.b * y)
        by_label = slope * critic.b * x
        expected = expected + (by_image**2).sum() + (by_label**2).sum()
    penalty = r1_penalty(critic, image, label, output='probability')
    torch.testing.assert_close(penalty, expected / 3)
    torch.testing.assert_close(
        torch.autograd.grad(penalty, critic.parameters()),
        torch.autograd.grad(expected / 3, critic.parameters()),
    )


def test_ignored_pixels_are_not_penalised():
    critic = Critic()
    image, label = inputs()
    mask = torch.ones(3, 1, 4, 4)
    mask[:, :, 0] = 0
    outside = (critic.b * image[:, :, 0]) ** 2  # what the label's rows add
    by_image = (2 * critic.a * image + critic.b * label * mask) ** 2
    by_label = (critic.b * image) ** 2
    expected = (by_image.sum() + by_label.sum() - outside.sum()) / 3
    torch.testing.assert_close(
        r1_penalty(critic, image, label, mask), expected
    )


def test_full_precision_under_autocast_and_no_grad():
    seen = []

    class Spy(Critic):
        def forward(self, image, label, mask=None):
            seen.append((image.dtype, torch.is_autocast_enabled('cpu')))
            return super().forward(image, label, mask)

    image, label = inputs()
    with torch.autocast('cpu', dtype=torch.bfloat16), torch.no_grad():
        penalty = r1_penalty(Spy(), image.bfloat16(), label.bfloat16())
    assert seen == [(torch.float32, False)]
    assert penalty.requires_grad


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


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (dict(weight=-1), 'R1Hook.weight=-1'),
        (dict(interval=0), 'R1Hook.interval=0'),
        (dict(output='odds'), "output='odds'"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        R1Hook(**arguments)
