import pytest
import torch
from torch import nn

from mmcar.models import GumbelSampler, RefinementUNet, compiling
from mmcar.models.compiling import compile_decoder, compile_networks
from tests.toys import toy_batch, toy_config, toy_model, toy_optims


class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def encode(self, x):
        return self.layer(x)

    def decode(self, x):
        return x + 1

    def forward(self, x):
        return self.decode(self.encode(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(2, 2)
        self.g = Parts()

    def networks(self):
        return dict(calibration=self.f, generator=self.g)


def fake_compile(calls, fail=False):
    def compile(function):
        def compiled(*args):
            calls.append(function.__name__)
            if fail:
                raise RuntimeError(
                    'no compiler here\n\nbecause: ' + 'x ' * 999
                )
            return function(*args)

        return compiled

    return compile


@pytest.mark.parametrize('fail', [False, True])
def test_compiles_or_goes_on_without(monkeypatch, fail):
    calls, lines = [], []
    monkeypatch.setattr(
        compiling, 'print_log', lambda line, **_: lines.append(line)
    )
    monkeypatch.setattr(torch, 'compile', fake_compile(calls, fail))
    model = Model()
    keys = list(model.state_dict())
    x = torch.rand(3, 2)
    expected = model.f(x), model.g(x)
    compile_networks(model, ['calibration', 'generator'])
    for _ in range(2):
        assert torch.equal(model.f(x), expected[0])
        assert torch.equal(model.g(x), expected[1])
    assert list(model.state_dict()) == keys
    assert calls == ['forward', 'encode', 'decode'] * (1 if fail else 2)
    assert len(lines) == (3 if fail else 0)
    for line in lines:
        assert 'RuntimeError: no compiler here because: x' in line
        assert '\n' not in line and len(line) < 300


def test_a_mistake_in_the_model_is_not_hidden(monkeypatch):
    monkeypatch.setattr(torch, 'compile', fake_compile([]))
    model = Model()
    compile_networks(model, ['calibration'])
    with pytest.raises(RuntimeError, match='shapes'):
        model.f(torch.rand(3, 5))


def test_refuses_unknown_networks():
    with pytest.raises(ValueError, match=r"'teacher'.*'calibration'"):
        compile_networks(Model(), ['teacher'])


def test_decoder_is_compiled_at_test_only(monkeypatch):
    calls = []
    monkeypatch.setattr(torch, 'compile', fake_compile(calls))
    parts = Parts()
    compile_decoder(parts)
    parts.decode(torch.ones(2))
    assert not calls
    with torch.no_grad():
        parts.decode(torch.ones(2))
    assert calls == ['decode']


def test_the_folded_decoder_is_faster_than_a_compiled_one(monkeypatch):
    calls = []
    monkeypatch.setattr(torch, 'compile', fake_compile(calls))
    generator = RefinementUNet(2, depth=2, base_channels=32).eval()
    compile_decoder(generator)
    z = torch.randn(1, 1, generator.noise_size)
    for side, compiled in ((128, []), (16, ['decode'])):
        image = torch.rand(1, 3, side, side)
        log_probs = torch.randn(1, 2, side, side).log_softmax(1)
        with torch.no_grad():
            features = generator.encode(image, log_probs)
            assert (features.folded is None) == bool(compiled)
            generator.decode(features, z)
        assert calls == compiled


def test_a_sampler_without_weights_is_left_alone():
    sampler = GumbelSampler(2)
    compile_decoder(sampler)
    assert 'decode' not in vars(sampler)


@pytest.mark.slow
def test_a_compiled_decoder_draws_the_same():
    torch.manual_seed(0)
    generator = RefinementUNet(3, base_channels=4, depth=2).eval()
    image = torch.rand(1, 3, 32, 48)
    log_probs = torch.randn(1, 3, 32, 48).log_softmax(1)
    z = torch.randn(4, 1, generator.noise_size)
    with torch.no_grad():
        state = generator.encode(image, log_probs)
        plain = generator.decode(state, z)
        compile_decoder(generator)
        compiled = generator.decode(state, z)
        assert generator.decode.current is not generator.decode.eager
    assert torch.allclose(plain, compiled, atol=1e-4)


@pytest.mark.slow
def test_compiled_networks_learn_the_same_over_changes_of_phase():
    """F learns, then rests while G and D learn, then learns again."""
    phases = [['calibration'], ['generator', 'discriminator'], ['calibration']]
    logs = {}
    for names in ((), ('calibration', 'generator', 'discriminator')):
        cfg = toy_config()
        # A compiled dropout draws other numbers.
        for network in ('calibration', 'generator'):
            cfg['decode_head'][network]['dropout'] = 0.0
        model = toy_model(decode_head=cfg['decode_head'])
        compile_networks(model, names)
        optims, model = toy_optims(model), model.train()
        logs[names] = []
        for phase in phases:
            for _ in range(2):
                torch.manual_seed(len(logs[names]))
                log = model.train_step(
                    toy_batch(), {name: optims[name] for name in phase}
                )
                losses = {k: v for k, v in log.items() if 'loss' in k}
                logs[names].append({k: float(v) for k, v in losses.items()})
        for name in names:
            network = model.networks()[name]
            parts = [vars(network).get(k) for k in ('forward', 'encode')]
            used = [part for part in parts if part is not None]
            assert used and all(p.current is not p.eager for p in used)
    plain, compiled = logs.values()
    assert len(plain) == 6
    for one, other in zip(plain, compiled, strict=True):
        assert one == pytest.approx(other, rel=1e-3)
