import pytest
import torch
from mmengine.logging import MessageHub

from mmcar.models.segmentors.finite import (
    MAX_SKIPPED,
    NonFiniteLossError,
    check_finite,
    look_at,
)

GOOD = dict(loss_a=torch.tensor(1.0), loss_b=torch.tensor(2.0))


def check(losses, *options):
    return check_finite(look_at(losses, {})[0], *options)


@pytest.fixture
def hub():
    hub = MessageHub.get_instance('test_guards')
    hub.runtime_info.clear()
    hub.update_info('iter', 41)
    return hub


def test_one_look_sees_flags_and_values(hub):
    losses = GOOD | dict(loss_c=torch.tensor([1.0, float('nan')]))
    logged = dict(
        loss_a=torch.tensor(0.1, requires_grad=True),
        exact=torch.tensor([0.1], dtype=torch.float64),
        half=torch.tensor(0.1, dtype=torch.bfloat16),
    )
    finite, values = look_at(losses, logged)
    assert finite == dict(loss_a=True, loss_b=True, loss_c=False)
    assert values == {key: value.item() for key, value in logged.items()}


@pytest.mark.parametrize('value', [float('nan'), float('inf'), -float('inf')])
def test_raise_names_iteration_loss_and_checkpoint(hub, value):
    hub.update_info('last_ckpt', 'runs/iter_40.pth')
    bad = GOOD | dict(loss_c=torch.tensor(value))
    with pytest.raises(NonFiniteLossError) as error:
        check(bad)
    text = str(error.value)
    assert 'loss_c not finite at iteration 42' in text
    assert 'loss_a' not in text
    assert 'runs/iter_40.pth' in text


def test_many_in_a_row_stop_though_another_network_learns(hub):
    bad = dict(loss=torch.tensor(float('nan')))
    for _ in range(MAX_SKIPPED - 1):
        assert check(GOOD, 'skip', 'calibration')
        assert not check(bad, 'skip', 'generator')
    assert hub.get_info('skipped_updates') == MAX_SKIPPED - 1
    with pytest.raises(NonFiniteLossError, match=f'{MAX_SKIPPED}th update'):
        check(bad, 'skip', 'generator')


def test_a_good_one_begins_a_new_row(hub):
    bad = dict(loss=torch.tensor(float('nan')))
    for _ in range(3):
        for _ in range(MAX_SKIPPED - 1):
            assert not check(bad, 'skip', 'generator')
        assert check(GOOD, 'skip', 'generator')
