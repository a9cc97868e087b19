"""Labels of a padded batch whose images have different annotators."""

import copy

import torch

from mmcar.models.segmentors.train_batch import TrainBatch
from tests.toys import toy_batch, toy_model


def ragged_batch():
    """A 16x16 image with three annotators, a 12x10 one with two."""
    large = toy_batch((16, 16), 1, annotators=3)
    small = toy_batch((12, 10), 1, annotators=2, seed=1)
    small['data_samples'][0].set_metainfo(dict(img_path='toy/small.png'))
    small['data_samples'][0].gt_sem_segs.data[1, 5, 5] = 255
    return {key: large[key] + small[key] for key in large}


def stacked(model, data):
    data = model.data_preprocessor(copy.deepcopy(data), True)
    return TrainBatch(data['inputs'], data['data_samples'], 2)


def test_padding_is_ignored_everywhere():
    batch = stacked(toy_model(), ragged_batch())
    outside = torch.ones(16, 16, dtype=torch.bool)
    outside[:12, :10] = False
    assert (batch.label[1][outside] == 255).all()
    assert (batch.mask[1, 0][outside] == 0).all()
    assert (batch.real[1][:, outside] == 0).all()
    assert (batch.labels()[1][:, outside] == 255).all()
    probs, valid = batch.label_distribution()
    assert not valid[1][outside].any()
    assert (probs[1][:, outside] == 0.5).all()


def test_annotators_stay_with_their_image():
    data = ragged_batch()
    maps = [s.gt_sem_segs.data.long() for s in data['data_samples']]
    labels = stacked(toy_model(), data).labels()
    assert labels.shape == (2, 3, 16, 16)
    assert torch.equal(labels[0], maps[0])
    assert torch.equal(labels[1, :2, :12, :10], maps[1])
    assert (labels[1, 2] == 255).all()


def test_where_classes_flip_the_drawn_label_is_the_only_one():
    data = ragged_batch()
    data['data_samples'][0].set_metainfo(dict(class_flips=((0, 1, 0.5),)))
    batch = stacked(toy_model(), data)
    assert torch.equal(batch.labels(), batch.label[:, None])


def test_losses_of_a_padded_batch_by_hand():
    """Every pixel the drawn label knows counts once, and no other."""
    model = toy_model().eval()
    data = model.data_preprocessor(ragged_batch(), True)
    found = model.loss(data['inputs'], data['data_samples'])
    batch = TrainBatch(data['inputs'], data['data_samples'], 2)
    noise = model.draw_noise(batch.image, batch.data_samples, 3, (0,))
    state = model.encode(batch.image)
    log_probs, samples = state.log_probs, model.sample(state, noise)
    mean = samples.mean(0)
    cross_entropy, divergence = [], []
    for b, size in enumerate([(16, 16), (12, 10)]):
        label = data['data_samples'][b].gt_sem_seg.data[0]
        for y in range(size[0]):
            for x in range(size[1]):
                if label[y, x] == 255:
                    continue
                cross_entropy.append(-log_probs[b, label[y, x], y, x])
                p = mean[b, :, y, x] * (1 - 2e-3) + 1e-3
                q = log_probs[b, :, y, x].exp() * (1 - 2e-3) + 1e-3
                divergence.append((p * (p / q).log()).sum())
    assert len(divergence) == 16 * 16 + 12 * 10 - 2 * 4
    expected = torch.stack(cross_entropy).mean()
    torch.testing.assert_close(found['loss_ce'], expected)
    expected = 5 * torch.stack(divergence).mean()
    torch.testing.assert_close(found['loss_cal'], expected)


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
