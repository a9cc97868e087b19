import pytest
import torch
from torch import nn

from mmcar.models.compiling import compile_networks


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
                raise RuntimeError('no compiler here')
            return function(*args)

        return compiled

    return compile


@pytest.mark.parametrize('fail', [False, True])
def test_compiles_or_goes_on_without(monkeypatch, capsys, fail):
    calls = []
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


def test_a_mistake_in_the_model_is_not_hidden(monkeypatch):
    monkeypatch.setattr(torch, 'compile', fake_compile([]))
    model = Model()
    compile_networks(model, ['calibration'])
    with pytest.raises(RuntimeError, match='shapes'):
        model.f(torch.rand(3, 5))


def test_refuses_unknown_networks():
    with pytest.raises(ValueError, match=r"'teacher'.*'calibration'"):
        compile_networks(Model(), ['teacher'])
