"""Exact margins behind any model: frequencies, chunks, weights, refusals."""

import copy
from functools import partial

import pytest
import torch
from mmengine.runner.checkpoint import load_state_dict
from mmseg.registry import MODELS

from mmcar.inference.onnx_export import export_onnx
from mmcar.utils.errors import UserError
from tests.toys import toy_batch

from .models import METHODS, MMSEG

OTHERS = ('ssn', 'prob_unet', 'mc_dropout', 'deep_ensemble', 'views')
FLOWS = ('flow_ssn', 'flow_on_ssn')


def build(name, **changes):
    torch.manual_seed(0)
    cfg = METHODS[name]
    if name not in ('exact_margins', 'ranked_car'):
        cfg = dict(type='ExactMargins', model=cfg)
    model = MODELS.build(copy.deepcopy(cfg) | changes)
    model.init_weights()
    return model.eval()


@pytest.mark.parametrize('name', (*OTHERS, *FLOWS, 'ranked_car'))
def test_frequencies_are_the_models_probabilities(name):
    model, number = build(name), 3 if name in OTHERS[::2] else 10
    model.test_cfg.update(num_samples=number, samples_per_chunk=2)
    for sample in model.test_step(toy_batch()):
        error = sample.sample_probs.data - sample.seg_logits.data.exp()
        assert error.abs().max() < 1 / number + 1e-5
        maps = sample.pred_samples.data
        share = (maps == 1).float().mean(0)
        torch.testing.assert_close(share, sample.sample_probs.data[1])
    assert not model.draws_independently


def test_chunks_change_nothing():
    model, found = build('exact_margins'), []
    for chunk in (None, 1, 3):
        model.test_cfg.update(num_samples=7, samples_per_chunk=chunk)
        model.model.test_cfg.update(samples_per_chunk=chunk)
        found.append(model.test_step(toy_batch()))
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            assert torch.equal(one.pred_samples.data, other.pred_samples.data)


def test_weights_of_the_model_alone_fit():
    torch.manual_seed(1)
    alone = MODELS.build(METHODS['ssn'])
    mmengines = partial(load_state_dict, strict=True)
    for load in (torch.nn.Module.load_state_dict, mmengines):
        for weights in (alone.state_dict(), build('ssn').state_dict()):
            model = build('exact_margins')
            load(model, weights)
            for key, value in model.model.state_dict().items():
                expected = weights.get(key, weights.get(f'model.{key}'))
                assert torch.equal(value, expected)


def test_what_cannot_hold_is_refused(tmp_path):
    model = build('exact_margins')
    model.test_cfg.update(max_class_area=[1.0, 0.5])
    with pytest.raises(UserError, match='max_class_area'):
        model.test_step(toy_batch())
    ranked = METHODS['ranked_car']
    with pytest.raises(UserError, match='ONNX'):
        export_onnx(build('ranked_car'), tmp_path / 'model.onnx', (16, 16))
    with pytest.raises(UserError, match='samples_per_chunk'):
        MODELS.build(dict(ranked, train_cfg=dict(samples_per_chunk=2)))
    dropout = dict(METHODS['mc_dropout'], decode_head=ranked['decode_head'])
    with pytest.raises(UserError, match='ExactMargins'):
        MODELS.build(dropout)


def test_d_alone_sees_ranked_samples_of_g():
    """Not the ranks of one sample, which G has no part in."""
    head = dict(METHODS['ranked_car']['decode_head'], calibration=MMSEG)
    critic = dict(type='DCGANDiscriminator', base_channels=4)
    model = build('ranked_car', decode_head=head, discriminator=critic)
    data = model.data_preprocessor(toy_batch(), True)
    seen = []
    model.discriminator.register_forward_pre_hook(
        lambda _, inputs: seen.append(inputs[1].detach())
    )

    def fake():
        batch = model.train_batch(*data.values(), (0,))
        model.losses('discriminator', batch)
        return seen.pop()[2:]

    before = fake()
    for weight in model.decode_head.generator.parameters():
        weight.data.copy_(torch.randn_like(weight))
    assert (before != fake()).any()
