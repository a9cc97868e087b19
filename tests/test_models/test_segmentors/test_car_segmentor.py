"""What a model consists of, and which configs it refuses."""

import pytest
import torch

from tests.toys import toy_batch, toy_config, toy_model, toy_optims

BLACK_BOX = dict(
    type='BlackBox',
    backbone=dict(
        type='ResNet',
        depth=18,
        num_stages=2,
        out_indices=(0, 1),
        strides=(1, 2),
        dilations=(1, 1),
        base_channels=4,
        stem_channels=4,
        norm_cfg=dict(type='BN'),
    ),
    decode_head=dict(
        type='FCNHead',
        in_channels=8,
        in_index=1,
        channels=4,
        num_classes=3,
        norm_cfg=dict(type='BN'),
    ),
)


def with_black_box() -> dict:
    head = toy_config()['decode_head']
    head['black_box'] = BLACK_BOX
    return head


def test_the_black_box_is_not_a_network():
    model = toy_model(decode_head=with_black_box())
    assert set(model.networks()) == {
        'calibration',
        'generator',
        'discriminator',
    }
    model.train()
    black_box = model.decode_head.black_box
    assert not any(m.training for m in black_box.modules())
    assert not any(p.requires_grad for p in black_box.parameters())


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


@pytest.mark.parametrize('chunk', [None, 2])
def test_losses_see_all_samples_and_one_chunk_is_not_copied(chunk):
    head = toy_config()['decode_head']
    head['generator'].update(norm_cfg=None, dropout=0.0)
    model = toy_model(
        decode_head=head,
        loss_samples=dict(type='EnergyLoss'),
        train_cfg=dict(num_samples=4, samples_per_chunk=chunk),
    )
    drawn, seen = [], []
    sample = model.decode_head.generator.sample
    compute = model.loss_samples.forward

    def draw(*args):
        drawn.append(sample(*args))
        return drawn[-1]

    model.decode_head.generator.sample = draw
    model.loss_samples.forward = lambda b: seen.append(b) or compute(b)
    batch = model.data_preprocessor(toy_batch(), True)
    model.losses('generator', model.train_batch(*batch.values(), seed=(0,)))
    assert torch.equal(seen[0].samples, torch.cat(drawn))
    assert (seen[0].samples is drawn[0]) == (chunk is None)


@pytest.mark.parametrize(
    'change, message',
    [
        (dict(train_cfg=dict(num_samples=0)), 'train_cfg.num_samples=0'),
        (dict(nonfinite='ignore'), "nonfinite='ignore'"),
        (
            dict(loss_samples=dict(type='CalibrationLoss', ignore_index=0)),
            'CalibrationLoss.ignore_index=0, but decode_head.ignore_index=255',
        ),
        (dict(pretrained='x.pth'), 'model.pretrained'),
        (
            dict(discriminator=dict(type='DCGANDiscriminator', num_classes=3)),
            'discriminator.num_classes=3',
        ),
    ],
)
def test_bad_configs_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        toy_model(**change)
