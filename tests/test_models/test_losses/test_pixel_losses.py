"""What F learns from, by loops over pixels, and MMSeg's losses as F's."""

import pytest
import torch
import torch.nn.functional as F
from mmseg.registry import MODELS

from mmcar.models.losses import LabelCrossEntropy
from mmcar.models.losses.pixel_losses import PixelLosses, log_odds
from tests.toys import toy_batch, toy_model, toy_optims

WEIGHTS = [0.5, 2.0, 3.0]


def case():
    rng = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 3, 4, 5, generator=rng, requires_grad=True)
    label = torch.randint(3, (2, 4, 5), generator=rng)
    label[0, :2] = 255
    return logits, label


def weighted_by_hand(logits, target, valid):
    """Target (B, K, H, W); sums over the pixels that count."""
    log_probs = logits.log_softmax(1)
    total = weight = 0.0
    for b, y, x in valid.nonzero().tolist():
        for k, w in enumerate(WEIGHTS):
            share = w * target[b, k, y, x].item()
            total -= share * log_probs[b, k, y, x].item()
            weight += share
    return total / weight


def test_class_weights_of_hard_and_soft_labels():
    logits, label = case()
    loss = LabelCrossEntropy(class_weight=WEIGHTS)
    valid = label != 255
    hard = F.one_hot(label.where(valid, 0), 3).movedim(-1, 1)
    expected = weighted_by_hand(logits, hard.float(), valid)
    assert loss(logits, label).item() == pytest.approx(expected, rel=1e-5)
    soft = torch.rand(2, 3, 4, 5).softmax(1)
    expected = weighted_by_hand(logits, soft, valid)
    found = loss(logits, soft, valid).item()
    assert found == pytest.approx(expected, rel=1e-5)
    assert loss(logits, torch.full_like(label, 255)) == 0


FIT = [
    dict(type='CrossEntropyLoss'),
    dict(type='CrossEntropyLoss', class_weight=WEIGHTS),
    dict(type='CrossEntropyLoss', class_weight=WEIGHTS, avg_non_ignore=True),
    dict(type='DiceLoss'),
    dict(type='LovaszLoss', reduction='none'),
    dict(type='TverskyLoss'),
]


@pytest.mark.parametrize('cfg', FIT, ids=lambda c: str(sorted(c.items())))
def test_losses_of_mmseg_leave_ignored_pixels_out(cfg):
    logits, label = case()
    losses = PixelLosses(cfg, ignore_index=255)
    (value,) = losses(logits.log_softmax(1), label).values()
    assert value.isfinite() and value > 0
    (gradient,) = torch.autograd.grad(value, logits)
    assert gradient.isfinite().all()
    if cfg['type'] != 'DiceLoss' and cfg['type'] != 'TverskyLoss':
        # Those two count predicted mass of ignored pixels too.
        assert not gradient.movedim(1, -1)[label == 255].any()
    assert gradient.movedim(1, -1)[label != 255].any()


def test_weighted_cross_entropy_of_mmseg_equals_ours():
    logits, label = case()
    log_probs = logits.log_softmax(1)
    theirs = PixelLosses(FIT[1], ignore_index=255)
    ours = LabelCrossEntropy(class_weight=WEIGHTS)
    (found,) = theirs(log_probs, label).values()
    torch.testing.assert_close(found, ours(log_probs, label))


def test_soft_labels_need_a_loss_that_takes_them():
    model = toy_model(
        loss_pixels=dict(type='DiceLoss'), train_cfg=dict(soft_labels=True)
    )
    optims = toy_optims(model)
    with pytest.raises(ValueError, match='DiceLoss takes one label'):
        model.train_step(toy_batch(), {'calibration': optims['calibration']})


@pytest.mark.parametrize('naive', [False, True])
def test_a_loss_by_sigmoid_sees_the_probabilities(naive):
    """The sigmoid of a log-probability would never exceed one half."""
    cfg = dict(type='DiceLoss', use_sigmoid=True, naive_dice=naive)
    logits, label = case()
    log_probs = logits.log_softmax(1)
    found = PixelLosses(cfg, 255)(log_probs, label)['loss_dice']
    same = MODELS.build(dict(cfg, use_sigmoid=False))
    assert found.item() == pytest.approx(same(logits, label).item(), rel=1e-5)
    found.backward()
    assert logits.grad.isfinite().all()


def test_log_odds_of_certain_pixels_are_finite():
    log_probs = torch.tensor([[0.0, -120.0], [-1e-9, -20.0]]).requires_grad_()
    odds = log_odds(log_probs)
    assert odds.isfinite().all()
    probs = odds.sigmoid().detach()
    assert torch.allclose(probs, log_probs.exp(), atol=1e-12)
    odds.sigmoid().sum().backward()
    assert log_probs.grad.isfinite().all()


UNFIT = [
    dict(type='CrossEntropyLoss', use_sigmoid=True),
    dict(type='mmseg.CrossEntropyLoss', use_mask=True),
    dict(type='LovaszLoss', loss_type='binary', reduction='none'),
    dict(type='DiceLoss', activate=False),
    dict(type='BoundaryLoss'),
]


@pytest.mark.parametrize('cfg', UNFIT, ids=str)
def test_losses_of_something_else_are_refused(cfg):
    with pytest.raises(ValueError, match='loss_pixels'):
        PixelLosses(cfg, 255)


def test_a_loss_that_takes_no_ignore_index_is_called_without():
    logits, label = case()
    loss = dict(type='OhemCrossEntropy', thres=1.0)
    found = PixelLosses(loss, 255)(logits.log_softmax(1), label)
    expected = F.cross_entropy(logits, label, ignore_index=255)
    assert found['loss_ohem'].item() == pytest.approx(expected.item())
