import math

import torch

from tests.toys import toy_batch, toy_config, toy_model, toy_optims


def test_g_learns_without_f():
    head = toy_config()['decode_head']
    head['calibration'] = dict(type='UniformCalibration')
    head['generator']['type'] = 'LatentUNet'
    model = toy_model(decode_head=head, loss_samples=dict(type='ELBOLoss'))
    assert set(model.networks()) == {'generator', 'discriminator'}
    log = model.train_step(toy_batch(), toy_optims(model))
    assert math.isfinite(log['loss_elbo'])
    image = torch.randn(2, 3, 16, 16)
    probs = model.decode_head.calibrate(image).exp()
    assert torch.allclose(probs, torch.full((2, 2, 16, 16), 0.5))
    (sample, _) = model.eval().test_step(toy_batch())
    assert sample.pred_samples.data.shape == (5, 16, 16)
