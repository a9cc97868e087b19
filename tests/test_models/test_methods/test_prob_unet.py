"""Prior, posterior and evidence lower bound against closed forms."""

import numpy as np
import torch
from mmseg.registry import MODELS
from torch.distributions import Normal, kl_divergence

from mmcar.models.methods.prob_unet import LatentHead
from tests.toys import toy_batch

from .models import METHODS


def test_the_head_is_convolutions_on_features_beside_the_code():
    torch.manual_seed(0)
    head = LatentHead(4, 3, 2, convs=3)
    features, codes = torch.randn(2, 4, 5, 6), torch.randn(3, 2, 3)
    weight = head.of_features.weight[..., 0, 0], head.of_code.weight
    weight = torch.cat(weight, dim=1)
    logits = head(head.of_features(features), codes)
    for s in range(3):
        broadcast = codes[s][..., None, None].expand(-1, -1, 5, 6)
        both = torch.cat((features, broadcast), dim=1)
        first = torch.einsum('oi,bihw->bohw', weight, both)
        first = first + head.of_features.bias[:, None, None]
        torch.testing.assert_close(logits[s], head.rest(first))


def build(**changes):
    torch.manual_seed(0)
    return MODELS.build(METHODS['prob_unet'] | changes).eval()


def train_batch(model):
    data = model.data_preprocessor(toy_batch(), True)
    return model.train_batch(*data.values(), (0,))


def test_the_loss_is_the_negative_bound_per_known_pixel():
    model = build(beta=0.3)
    batch = train_batch(model)
    losses = model.losses('net', batch)
    net = model.net
    posterior = net['posterior'](torch.cat((batch.image, batch.real), dim=1))
    prior = net['prior'](batch.image)
    q, p = (Normal(m, (0.5 * v).exp()) for m, v in (posterior, prior))
    z = model.draw_noise(batch.image, batch.data_samples, 1, (0,))
    code = q.mean + q.stddev * z
    features = net['head'].of_features(net['features'](batch.image))
    log_p = net['head'](features, code)[0].log_softmax(1)
    bound, pixels = -0.3 * kl_divergence(q, p).sum(), 0
    for b, y, x in np.ndindex(2, 16, 16):
        label = int(batch.label[b, y, x])
        if label != 255:
            bound = bound + log_p[b, label, y, x]
            pixels += 1
    total = losses['loss_ce'] + losses['loss_kl']
    torch.testing.assert_close(total, -bound / pixels)
    total.backward()
    for name in ('features', 'prior', 'posterior', 'head'):
        grads = [p.grad for p in model.net[name].parameters()]
        assert any(g is not None and g.abs().sum() > 0 for g in grads), name


def test_codes_are_drawn_from_the_prior():
    model = build()
    state = model.encode(torch.randn(1, 3, 16, 16))
    mean, logvar = torch.full((1, 3), 2.0), torch.full((1, 3), -1.0)
    state = state._replace(prior=(mean, logvar))
    z = torch.randn(4, 1, 3)
    logits = model.net['head'](state.features, 2 + torch.e**-0.5 * z)
    torch.testing.assert_close(model.sample(state, z), logits.softmax(2))
