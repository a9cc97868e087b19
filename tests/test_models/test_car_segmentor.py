import copy

import pytest
import torch

from mmcar.models.train_batch import TrainBatch
from tests.toys import toy_batch, toy_config, toy_model, toy_optims

PHASES = [
    ('calibration',),
    ('generator',),
    ('discriminator',),
    ('generator', 'discriminator'),
    ('calibration', 'generator', 'discriminator'),
]
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


@pytest.mark.parametrize('phase', PHASES)
def test_only_the_networks_with_an_optimiser_change(phase):
    model = toy_model(decode_head=with_black_box())
    optims = toy_optims(model)
    before = copy.deepcopy(model.state_dict())
    model.train()
    for _ in range(2):
        log = model.train_step(
            toy_batch(), {name: optims[name] for name in phase}
        )
    assert all(torch.isfinite(torch.as_tensor(v)) for v in log.values())
    owners = {
        'calibration': 'decode_head.calibration.',
        'generator': 'decode_head.generator.',
        'discriminator': 'discriminator.',
    }
    trained = tuple(owners[name] for name in phase)
    for key, value in model.state_dict().items():
        if not key.startswith(trained):
            assert torch.equal(value, before[key]), f'{key} moved'
    for name in phase:
        moved = [
            not torch.equal(value, before[key])
            for key, value in model.state_dict().items()
            if key.startswith(owners[name])
        ]
        assert any(moved), f'{name} did not train'


def test_no_gradient_of_the_generator_reaches_the_calibration_net():
    model = toy_model()
    optims = toy_optims(model)
    model.train()
    model.train_step(toy_batch(), {'generator': optims['generator']})
    calibration = model.decode_head.calibration
    assert all(p.grad is None for p in calibration.parameters())
    assert all(p.grad is None for p in model.discriminator.parameters())


def test_training_all_three_trains_the_calibration_net_as_alone():
    weights = []
    for names in (PHASES[0], PHASES[-1]):
        model = toy_model()
        optims = toy_optims(model)
        model.train()
        torch.manual_seed(1)  # of dropout
        model.train_step(toy_batch(), {name: optims[name] for name in names})
        weights.append(model.decode_head.calibration.state_dict())
        gradients = [
            p.grad for p in model.decode_head.calibration.parameters()
        ]
        assert all(g is None or not g.any() for g in gradients)
    alone, together = weights
    for key in alone:
        assert torch.equal(alone[key], together[key]), key


@pytest.mark.parametrize('phase', PHASES)
def test_networks_that_do_not_train_run_without_dropout(phase):
    model = toy_model()
    optims = toy_optims(model)
    ran = {}
    for name, network in model.networks().items():
        for module in network.modules():
            module.register_forward_hook(
                lambda m, i, o, name=name: ran.setdefault(name, set()).add(
                    m.training
                )
            )
    model.train()
    model.train_step(toy_batch(), {name: optims[name] for name in phase})
    for name, modes in ran.items():
        assert modes == {name in phase}, name
    assert set(phase) <= ran.keys()


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


def test_masked_pixels_of_the_label_change_nothing():
    model = toy_model().eval()
    data = model.data_preprocessor(toy_batch(), True)
    batch = TrainBatch(data['inputs'], data['data_samples'], 2)
    assert (batch.label == 255).any()
    assert torch.equal(batch.real.sum(1, keepdim=True), batch.mask)
    logits = model.discriminator(batch.image, batch.real, batch.mask)
    tampered = batch.real.clone()
    tampered[:, 1][batch.label == 255] = 1
    again = model.discriminator(batch.image, tampered, batch.mask)
    assert torch.equal(logits, again)


def test_chunked_training_has_the_same_gradients():
    head = toy_config()['decode_head']
    head['generator'].update(norm_cfg=None, dropout=0.0)
    grads = []
    for chunk in (None, 2):
        model = toy_model(
            decode_head=head,
            train_cfg=dict(num_samples=5, samples_per_chunk=chunk),
            loss_cal=[
                dict(type='CalibrationLoss'),
                dict(type='EnergyLoss'),
            ],
        )
        losses = model.loss(
            *model.data_preprocessor(toy_batch(), True).values()
        )
        sum(losses.values()).backward()
        grads.append(
            [p.grad.clone() for p in model.decode_head.generator.parameters()]
        )
    for whole, chunked in zip(*grads, strict=True):
        torch.testing.assert_close(whole, chunked, rtol=1e-4, atol=1e-6)


def test_soft_labels_train_on_the_mean_of_the_annotators():
    model = toy_model(train_cfg=dict(soft_labels=True, num_samples=1))
    data = model.data_preprocessor(toy_batch(), True)
    batch = TrainBatch(data['inputs'], data['data_samples'], 2)
    probs, valid = batch.label_distribution()
    log_probs = model.decode_head.calibrate(batch.image)
    expected = -(probs * log_probs).sum(1)[valid].mean()
    found = model._calibration_loss(batch, log_probs)
    torch.testing.assert_close(found, expected)


def test_predictions_have_every_field():
    model = toy_model().eval()
    batch = toy_batch()
    for sample in batch['data_samples']:
        sample.set_metainfo(dict(ori_shape=(24, 20)))
    for sample in model.test_step(batch):
        assert sample.pred_sem_seg.data.shape == (1, 24, 20)
        assert sample.seg_logits.data.shape == (2, 24, 20)
        assert sample.pred_samples.data.shape == (5, 24, 20)
        assert sample.pred_samples.data.dtype == torch.uint8
        total = sample.seg_logits.data.exp().sum(0)
        torch.testing.assert_close(total, torch.ones_like(total))
        total = sample.sample_probs.data.sum(0)
        torch.testing.assert_close(total, torch.ones_like(total))


def test_predictions_carry_what_the_black_box_said():
    model = toy_model(decode_head=with_black_box()).eval()
    for sample in model.test_step(toy_batch()):
        probs = sample.black_box_probs.data
        assert probs.shape == (3, 16, 16)
        torch.testing.assert_close(probs.sum(0), torch.ones(16, 16))


def test_predictions_do_not_depend_on_batch_order_or_chunks():
    model = toy_model().eval()
    batch = toy_batch()
    reverse = {key: value[::-1] for key, value in toy_batch().items()}
    first = model.test_step(batch)
    model.test_cfg['samples_per_chunk'] = 2
    second = model.test_step(reverse)[::-1]
    for one, other in zip(first, second, strict=True):
        torch.testing.assert_close(
            one.sample_probs.data, other.sample_probs.data
        )


@pytest.mark.parametrize(
    ('direction', 'axes'),
    [('horizontal', (-1,)), ('vertical', (-2,)), ('diagonal', (-2, -1))],
)
def test_test_time_flip_is_undone(direction, axes):
    model = toy_model().eval()
    plain, flipped = toy_batch(), toy_batch()
    model.decode_head.calibration = None
    model.decode_head.calibrate = lambda image, *_: torch.stack(
        [image[:, 0], -image[:, 0]], 1
    ).log_softmax(1)
    for image, sample in zip(*flipped.values(), strict=True):
        image.copy_(image.flip(axes))
        sample.set_metainfo(dict(flip=True, flip_direction=direction))
    for one, other in zip(
        model.test_step(plain), model.test_step(flipped), strict=True
    ):
        assert torch.equal(one.seg_logits.data, other.seg_logits.data)


@pytest.mark.parametrize(
    'change, message',
    [
        (dict(train_cfg=dict(num_samples=0)), 'train_cfg.num_samples=0'),
        (dict(train_cfg=dict(num_samples=None)), 'train_cfg.num_samples=None'),
        (
            dict(train_cfg=dict(samples_per_chunk=0)),
            'train_cfg.samples_per_chunk=0',
        ),
        (dict(test_cfg=dict(num_samples=-1)), 'test_cfg.num_samples=-1'),
        (dict(nonfinite='ignore'), "nonfinite='ignore'"),
        (
            dict(loss_cal=dict(type='CalibrationLoss', ignore_index=0)),
            'CalibrationLoss.ignore_index=0, but decode_head.ignore_index=255',
        ),
        (dict(test_cfg=dict(mode='slide')), "mode='slide'"),
        (dict(test_cfg=dict(samples=3)), "unknown keys \\['samples'\\]"),
        (dict(pretrained='x.pth'), 'model.pretrained'),
        (
            dict(discriminator=dict(type='DCGANDiscriminator', num_classes=3)),
            'discriminator.num_classes is 3',
        ),
    ],
)
def test_bad_configs_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        toy_model(**change)


def test_labels_outside_the_classes_are_named():
    model = toy_model()
    batch = toy_batch()
    batch['data_samples'][1].gt_sem_seg.data[0, 5, 5] = 7
    with pytest.raises(ValueError, match=r'\[7\] are outside the 2 classes'):
        model.train_step(batch, toy_optims(model))


def test_nonfinite_loss_skips_the_step_when_asked():
    model = toy_model(nonfinite='skip')
    optims = toy_optims(model)
    model.train()
    before = copy.deepcopy(model.state_dict())
    batch = toy_batch()
    batch['inputs'] = [i.float().fill_(float('nan')) for i in batch['inputs']]
    log = model.train_step(batch, {'calibration': optims['calibration']})
    assert log['skipped'] == 1
    for name, weight in model.named_parameters():
        assert torch.equal(weight, before[name])
