"""Learnt weights: a start as one number, exact frequencies ever after."""

import torch
from mmengine.logging import MessageHub
from mmseg.registry import MODELS

from mmcar.models import GumbelSampler, LearntFieldSampler
from tests.toys import toy_batch, toy_config, toy_optims

from .test_gumbel_sampler import PROBS, frequencies
from .test_region_sampler import IMAGE, on_both, two_blobs


def build(**kwargs):
    torch.manual_seed(0)
    sampler = LearntFieldSampler(2, rank=4, channels=8, **kwargs)
    sampler.init_weights()
    return sampler


def test_it_starts_as_the_training_free_sampler():
    sampler, shared = build(), GumbelSampler(2)
    z = torch.randn(9, 1, sampler.noise_size)
    own = z.unflatten(-1, (2, 4))[..., -1]
    expected = shared.sample_labels(shared.encode(IMAGE, two_blobs()), own)
    with torch.no_grad():
        found = sampler.sample_labels(sampler.encode(IMAGE, two_blobs()), z)
    assert torch.equal(found, expected)


def test_frequencies_are_those_of_f_whatever_it_has_learnt():
    sampler = LearntFieldSampler(3, rank=4, channels=8)
    for weight in sampler.parameters():
        torch.nn.init.normal_(weight)
    found = frequencies(sampler)
    assert (found - PROBS).abs().max() < 0.03


def test_it_learns_that_two_blobs_are_independent():
    """From labels in which they are, by the energy loss alone."""
    head = dict(
        type='CARHead',
        num_classes=2,
        calibration=dict(type='KnownDistribution'),
        generator=dict(type='LearntFieldSampler', rank=3, channels=8),
    )
    loss = dict(type='EnergyLoss', loss_weight=1.0, classes=(1,), smooth=0.1)
    torch.manual_seed(0)
    model = MODELS.build(
        toy_config(
            decode_head=head,
            discriminator=None,
            loss_samples=[loss],
            train_cfg=dict(num_samples=12),
        )
    )
    model.init_weights()
    batch = toy_batch(size=(24, 40), batch_size=1, annotators=4)
    (sample,) = batch['data_samples']
    labels = sample.gt_sem_segs.data
    labels.zero_()
    for a in range(4):  # none, one, the other, both
        labels[a, 4:12, 4:12] = a % 2
        labels[a, 10:20, 28:38] = a // 2
    optims = toy_optims(model, lr=1e-2)
    hub = MessageHub.get_current_instance()
    generator = model.decode_head.generator
    before = torch.corrcoef(on_both(generator, 500))[0, 1]
    for step in range(120):
        hub.update_info('iter', step)
        sample.gt_sem_seg.data = labels[:1].long()
        model.train_step(batch, optims)
    with torch.no_grad():
        both = on_both(generator.eval(), 2000)
    assert before > 0.9
    assert torch.corrcoef(both)[0, 1] < 0.5
    assert (both.mean(1) - 0.5).abs().max() < 0.05
