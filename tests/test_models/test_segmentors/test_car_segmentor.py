"""What a model consists of, and which configs it refuses."""

import pytest
import torch

from tests.toys import toy_batch, toy_config, toy_model, toy_optims, toy_parts

BLACK_BOX = dict(type='BlackBox', **toy_parts(num_classes=3))


def with_black_box() -> dict:
    head = toy_config()['decode_head']
    head['black_box'] = BLACK_BOX
    return head


@pytest.mark.parametrize('moving', [False, True])
def test_f_while_g_learns(moving):
    """Weights stay either way, statistics of norms move in train mode."""
    train_cfg = dict(num_samples=2, calibration_in_train_mode=moving)
    model = toy_model(train_cfg=train_cfg)
    f = model.decode_head.calibration
    weights = [p.clone() for p in f.parameters()]
    buffers = [b.clone() for b in f.buffers()]
    optims = toy_optims(model)
    names = ('generator', 'discriminator')
    model.train_step(toy_batch(), {name: optims[name] for name in names})
    assert all(map(torch.equal, weights, f.parameters()))
    assert all(map(torch.equal, buffers, f.buffers())) != moving
    model.train_step(toy_batch(), {'calibration': optims['calibration']})
    assert not all(map(torch.equal, weights, f.parameters()))


WRONG = dict(type='CalibrationLoss', ignore_index=0)
OTHER = dict(type='DCGANDiscriminator', num_classes=3)


@pytest.mark.parametrize(
    'change, message',
    [
        (dict(train_cfg=dict(num_samples=0)), 'train_cfg.num_samples=0'),
        (dict(nonfinite='ignore'), "nonfinite='ignore'"),
        (dict(loss_samples=WRONG), 'CalibrationLoss.ignore_index=0'),
        (dict(pretrained='x.pth'), 'model.pretrained'),
        (dict(discriminator=OTHER), 'discriminator.num_classes=3'),
    ],
)
def test_bad_configs_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        toy_model(**change)
