"""A step that leaves no trace."""

import random

import numpy as np
import torch

from mmcar.engine.trial import NoUpdate, untouched
from tests.toys import toy_batch, toy_model, toy_optims


def test_untouched():
    model = toy_model()
    first = next(model.parameters())
    first.grad = torch.ones_like(first)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    model.eval()
    states = torch.get_rng_state(), np.random.get_state()[1].copy()
    with untouched(model):
        model.train()
        for buffer in model.buffers():
            buffer.add_(1)
        first.grad = None
        torch.rand(3), np.random.rand(3), random.random()
    assert all(
        torch.equal(v, before[k]) for k, v in model.state_dict().items()
    )
    assert first.grad is not None and bool((first.grad == 1).all())
    assert not model.training
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (np.random.get_state()[1] == states[1]).all()


def test_no_other_gpu_is_asked(monkeypatch):
    """Each would get a context of this process, and fail if it is taken."""
    monkeypatch.setattr(torch.cuda, 'device_count', lambda: 4)
    with untouched(toy_model()):
        pass


def weights_after(optims) -> list[bool]:
    model = toy_model()
    before = {k: v.clone() for k, v in model.named_parameters()}
    model.train_step(toy_batch(), optims(model))
    return [torch.equal(v, before[k]) for k, v in model.named_parameters()]


def test_nothing_is_learnt_without_an_update():
    names = toy_model().networks()
    assert all(weights_after(lambda _: {name: NoUpdate() for name in names}))
    assert not all(weights_after(toy_optims))
