"""Training a sharp model computes no denormal numbers, which are slow."""

from collections import Counter

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests.toys import toy_batch, toy_config, toy_model, toy_optims


class DenormalCounter(TorchDispatchMode):
    """Counts denormal numbers in the results of all operations."""

    def __init__(self):
        super().__init__()
        self.found = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if 'empty' in str(func):
            return out  # holds nothing yet
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                tiny = torch.finfo(tensor.dtype).tiny
                denormal = (tensor != 0) & (tensor.abs() < tiny)
                self.found[str(func)] += int(denormal.sum())
        return out


def sharp_model(f_temperature):
    """A recipe's model whose F is as sure as its temperature makes it."""
    head = toy_config()['decode_head']
    head['temperature'] = f_temperature
    head['generator'].update(
        norm_cfg=None, dropout=0.0, gumbel={}, temperature=0.05
    )
    model = toy_model(
        decode_head=head,
        loss_samples=[dict(type='CalibrationLoss'), dict(type='EnergyLoss')],
    )
    for parameter in model.decode_head.generator.logits.parameters():
        torch.nn.init.normal_(parameter)  # not at its zero start
    return model


@pytest.mark.parametrize('network', ['calibration', 'generator'])
@pytest.mark.parametrize('f_temperature', [0.02, 0.005])
def test_a_sharp_model_makes_no_denormals(network, f_temperature):
    model = sharp_model(f_temperature)
    optims = toy_optims(model, lr=1e-4)
    batch = model.data_preprocessor(toy_batch(), True)
    logs = model.encode_decode(batch['inputs'], batch['data_samples'])
    # The toy's F is sharp enough for denormals to be there without care.
    assert ((logs < -87.5) & (logs > -103)).any()
    model.train()
    with DenormalCounter() as counter:
        model.train_step(toy_batch(), {network: optims[network]})
    # F's are dropped right behind the operation that makes them.
    dropped = {'aten._log_softmax_backward_data.default', 'aten.abs.default'}
    assert set(+counter.found) <= dropped
