"""The exported graph draws the samples that PyTorch draws."""

import pytest
import torch

from mmcar.apis.onnx_export import (
    agreement,
    export_onnx,
    exportable_log_ndtr,
    log_ndtr,
)
from mmcar.utils.errors import UserError
from tests.toys import toy_config, toy_model

HEAD = toy_config()['decode_head']
RECIPE = dict(
    HEAD['generator'],
    gumbel=dict(),
    norm_cfg=None,
    film='residual',
    upsample='resize',
    temperature=0.05,
)
GENERATORS = dict(
    gumbel=(dict(type='GumbelSampler'), 1.0),
    field=(dict(type='GumbelSampler', correlation_length=4.0), 0.999),
    unet=(HEAD['generator'], 0.999),
    recipe=(RECIPE, 0.999),
)


def test_log_ndtr():
    x = torch.linspace(-12, 12, 4001)
    expected = torch.special.log_ndtr(x.double())
    found = log_ndtr(x).double()
    assert ((found - expected) / expected).abs().max() < 2e-5


def test_log_ndtr_is_put_back():
    original = torch.special.log_ndtr
    with pytest.raises(RuntimeError), exportable_log_ndtr():
        assert torch.special.log_ndtr is log_ndtr
        raise RuntimeError
    assert torch.special.log_ndtr is original


@pytest.mark.parametrize('name', GENERATORS)
def test_same_labels_for_any_batch_and_size(name, tmp_path):
    pytest.importorskip('onnx', reason='needs requirements/deploy.txt')
    runtime = pytest.importorskip(
        'onnxruntime', reason='needs requirements/deploy.txt'
    )
    generator, required = GENERATORS[name]
    model = toy_model(
        decode_head={**HEAD, 'generator': generator}, discriminator=None
    )
    if name == 'recipe':  # zero at first: let it add something
        model.decode_head.generator.logits.weight.data.normal_()
    path = tmp_path / 'model.onnx'
    sampler = export_onnx(model, path, (32, 48))
    session = runtime.InferenceSession(str(path))
    torch.manual_seed(0)
    for images, samples, size in (
        (2, 3, (32, 48)),
        (1, 5, (32, 48)),
        (3, 2, (45, 37)),
    ):
        image = torch.rand(images, 3, *size) * 255
        noise = torch.randn(samples, images, *model.noise_shape(size))
        assert agreement(sampler, session, image, noise) >= required
        # The noise is heard: other noise draws other maps.
        labels, _ = sampler(image, noise)
        assert len(labels.unique()) > 1
        assert not torch.equal(labels, sampler(image, -noise)[0])


def test_refuses_windows(tmp_path):
    model = toy_model(
        test_cfg=dict(mode='slide', crop_size=(8, 8), stride=(8, 8))
    )
    with pytest.raises(UserError, match="mode='slide'"):
        export_onnx(model, tmp_path / 'model.onnx', (16, 16))
