"""The flow: its start, its steps against a plain loop, what it learns."""

import copy

import pytest
import torch
from mmengine.logging import MessageHub
from mmseg.registry import MODELS

from tests.toys import toy_batch, toy_optims

from .models import FLOW, GUMBEL, HEAD, METHODS, TRAINING_FREE


def build(name='flow_ssn', **changes):
    torch.manual_seed(0)
    return MODELS.build(copy.deepcopy(METHODS[name]) | changes).eval()


def prepared(model, batch=None):
    data = model.data_preprocessor(batch or toy_batch(), True)
    return model.train_batch(data['inputs'], data['data_samples'], (0, 0))


def learn(model, steps, batches):
    """Train the flow alone, with other noise at every step."""
    optims = toy_optims(model, lr=5e-3)
    hub = MessageHub.get_current_instance()
    hub.update_info('seed', 0)
    for i in range(steps):
        hub.update_info('iter', i)
        model.train_step(batches(), {'flow': optims['flow']})


@pytest.mark.parametrize('name', ('flow_ssn', 'flow_on_ssn'))
def test_samples_are_euler_steps_along_the_predicted_ends(name):
    model = build(name)
    image = torch.rand(2, 3, 16, 16)
    state = model.encode(image)
    z = torch.randn(2, 2, *model.noise_shape((16, 16)))
    found = model.sample(state, z)
    for s in range(2):
        for b in range(2):
            start = model.start(state, z)[s, b]
            y = start.clone()
            for step in range(3):
                time = torch.full((1, 16, 16), step / 3)
                seen = torch.cat((y, state.context[b], time))[None]
                velocity = model.net(seen)[0].softmax(0) - start
                y = y + velocity / 3
            torch.testing.assert_close(found[s, b], y, atol=1e-4, rtol=0)


@torch.no_grad()
def test_the_start_is_noise_around_f_or_ssns_gaussian():
    model = build(scale=2.0)
    state = model.encode(torch.rand(1, 3, 16, 16))
    z = torch.randn(3000, 1, *model.noise_shape((16, 16)))
    start = model.start(state, z)
    mean = start.mean(0)
    odds = state.log_probs[:, 1] - state.log_probs[:, 0]
    assert (mean[:, 1] - mean[:, 0]).allclose(2 * odds, atol=0.15)
    assert start.std(0).mean() == pytest.approx(1.0, abs=0.02)
    model = build('flow_on_ssn')
    state = model.encode(torch.rand(1, 3, 16, 16))
    z = torch.randn(4, 1, *model.noise_shape((16, 16)))
    own = model.model.sample(state.base, z[..., 1:])
    torch.testing.assert_close(model.start(state, z).softmax(2), own)


def test_the_base_does_not_change_while_the_flow_learns():
    model = build()
    before = copy.deepcopy(model.state_dict())
    first = model.losses('flow', prepared(model))['loss_flow']
    learn(model, 40, toy_batch)
    last = model.eval().losses('flow', prepared(model))['loss_flow']
    assert last < 0.95 * first
    for key, value in model.model.state_dict(prefix='model.').items():
        assert torch.equal(value, before[key]), key


def test_the_loss_is_the_cross_entropy_on_the_way_to_one_annotator():
    """Unlabelled pixels lead to what F expects, and nothing learns there."""
    model = build(scale=2.0)
    batch = prepared(model)
    found = model.losses('flow', batch)['loss_flow']
    state = model.encode(batch.image)
    z = model.draw_noise(batch.image, batch.data_samples, 1, (0, 0))[0]
    log_f, known = state.log_probs, batch.label != 255
    mean = 2.0 * (log_f - log_f.mean(1, keepdim=True)).clamp(-8, 8)
    total = 0.0
    for b in range(2):
        t = torch.distributions.Normal(0, 1).cdf(z[b, 0])
        u = mean[b] + z[b, 1:].view(2, 16, 16)
        y = torch.nn.functional.one_hot(batch.label[b] % 255, 2)
        y = y.movedim(-1, 0).where(known[b], log_f[b].exp())
        way, t = (1 - t) * u + t * y, t.expand(1, 16, 16)
        seen = torch.cat((way, mean[b] / 2.0, t))
        log_probs = model.net(seen[None])[0].log_softmax(0)
        for k in range(2):
            total = total - log_probs[k][batch.label[b] == k].sum()
    assert not known.all()
    torch.testing.assert_close(found, total / known.sum())
    other = toy_batch()
    for sample in other['data_samples']:
        sample.gt_sem_seg.data[:] = 255
    assert model.losses('flow', prepared(model, other))['loss_flow'] == 0


def coherent_batch(number):
    """Images whose label is all of one class, or all of the other."""
    batch = toy_batch((8, 8), batch_size=number)
    for i, sample in enumerate(batch['data_samples']):
        sample.gt_sem_seg.data[:] = i % 2
        batch['inputs'][i] = torch.zeros_like(batch['inputs'][i])
    return batch


@pytest.mark.slow
def test_it_learns_what_goes_together():
    """F says one half at every pixel; labels are of one class."""
    torch.manual_seed(0)
    head = dict(HEAD, calibration=dict(type='UniformCalibration'))
    uniform = dict(TRAINING_FREE, decode_head=dict(head, generator=GUMBEL))
    net = dict(FLOW, channels=8, num_blocks=4)
    model = build(model=uniform, net=net, steps=10)
    learn(model, 100, lambda: coherent_batch(6))
    model.eval()
    z = torch.randn(40, 1, *model.noise_shape((8, 8)))
    state = model.encode(torch.zeros(1, 3, 8, 8))
    labels = model.sample_labels(state, z).float()
    share = labels.mean((2, 3))
    assert ((share < 0.1) | (share > 0.9)).float().mean() > 0.5
    assert 0.2 < share.mean() < 0.8
