"""Training a sharp model computes no denormal numbers, which are slow."""

import math
from collections import Counter

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mmcar.engine import NetworkEMAHook
from mmcar.sampling.kernels.denormals import bounded_softmax
from tests.test_engine.runs import train
from tests.toys import toy_batch, toy_config, toy_model, toy_optims


class DenormalCounter(TorchDispatchMode):
    """Counts denormal numbers in the results of all operations."""

    def __init__(self):
        super().__init__()
        self.found = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        leaves = tree_leaves(out) if 'empty' not in str(func) else ()
        for tensor in leaves:
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                self.found[str(func)] += denormals(tensor)
        return out


RECIPE = dict(norm_cfg=None, dropout=0.0, gumbel={}, temperature=0.05)
NET = dict(type='ConvCalibration', channels=4)
SHARP = dict(net_temperature=0.02, temperature=0.05)
TUNED = dict(type='TunedSampler', net=NET, **SHARP)


def denormals(tensor):
    """How many denormal numbers a tensor holds."""
    tiny = torch.finfo(tensor.dtype).tiny
    return int(((tensor != 0) & (tensor.abs() < tiny)).sum())


def sharp_config(f_temperature, generator):
    """Config of a model whose F is as sure as its temperature makes it."""
    head = toy_config()['decode_head']
    head['temperature'] = f_temperature
    if generator == 'tuned':
        head['generator'] = TUNED
    elif generator == 'recipe':
        head['generator'].update(RECIPE)
    losses = [dict(type='CalibrationLoss'), dict(type='EnergyLoss')]
    return toy_config(decode_head=head, loss_samples=losses)


def sharp_model(f_temperature, generator):
    """The model; its G is not at its zero start."""
    model = toy_model(**sharp_config(f_temperature, generator))
    if generator == 'recipe':
        for parameter in model.decode_head.generator.logits.parameters():
            torch.nn.init.normal_(parameter)
    return model


@pytest.mark.parametrize(
    ('generator', 'networks', 'f_temperature'),
    [
        ('recipe', ['generator', 'discriminator'], 0.02),
        ('paper', ['generator', 'discriminator'], 0.005),
        ('tuned', ['generator'], 0.005),
    ],
)
def test_a_sharp_model_makes_no_denormals(generator, networks, f_temperature):
    model = sharp_model(f_temperature, generator)
    optims = toy_optims(model, lr=1e-4)
    batch = model.data_preprocessor(toy_batch(), True)
    logs = model.encode_decode(batch['inputs'], batch['data_samples'])
    # The toy's F is sharp enough for denormals to be there without care.
    assert ((logs < -87.5) & (logs > -103)).any()
    model.train()
    with DenormalCounter() as counter:
        model.train_step(toy_batch(), {n: optims[n] for n in networks})
    assert not +counter.found


def test_none_are_left_behind_by_phases(tmp_path):
    """Weights, their average, and what optimisers of all networks keep."""
    phases = [
        dict(iters=2, train=['calibration']),
        dict(iters=3, train=['generator', 'discriminator']),
    ]
    runner = train(
        tmp_path,
        model=sharp_config(0.005, 'recipe'),
        train_cfg=dict(type='AlternatingTrainLoop', phases=phases),
        custom_hooks=[dict(type='NetworkEMAHook', momentum=0.1)],
    )
    (hook,) = (h for h in runner.hooks if isinstance(h, NetworkEMAHook))
    kept = dict(runner.model.state_dict())
    kept |= {f'average {key}': value for key, value in hook.average.items()}
    for name, wrapper in runner.optim_wrapper.items():
        for i, state in enumerate(wrapper.optimizer.state.values()):
            kept |= {f'{name} {i} {key}': v for key, v in state.items()}
    assert {'calibration 0 exp_avg', 'discriminator 0 exp_avg_sq'} <= set(kept)
    found = {k: denormals(v) for k, v in kept.items() if v.is_floating_point()}
    assert not any(found.values()), +Counter(found)


@pytest.mark.parametrize('temperature', [1.0, 0.05])
def test_softmax_is_that_of_bounded_logits(temperature):
    """Value, gradient and gradient of the gradient, by plain operations."""
    torch.manual_seed(0)
    logits = 3 * torch.randn(2, 3, 4, 5, dtype=torch.float64)
    logits.requires_grad_(True)

    def plain(x):
        x = x / temperature
        x = x - x.detach().amax(2, keepdim=True)
        return x.clamp_min(-30).softmax(2)

    def derivatives(function):
        probs = function(logits)
        total = probs.square().sum()
        (first,) = torch.autograd.grad(total, logits, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), logits)
        return probs, first, second

    found = derivatives(lambda x: bounded_softmax(x, 2, temperature))
    for ours, expected in zip(found, derivatives(plain), strict=True):
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-9)
    assert found[0].min() >= 1e-14


@pytest.mark.parametrize('last', [False, True])
def test_softmax_without_gradients(last):
    torch.manual_seed(0)
    logits = 3 * torch.randn(4, 3, 5, 6)
    if last:
        logits = logits.contiguous(memory_format=torch.channels_last)
    before = logits.clone()
    probs = bounded_softmax(logits, 1, 0.05)
    expected = (before / 0.05).softmax(1).clamp_min(math.exp(-30))
    assert torch.equal(probs, expected)
    assert torch.equal(logits, before)
