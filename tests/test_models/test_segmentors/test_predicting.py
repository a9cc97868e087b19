"""What a prediction puts into a data sample."""

import math

import pytest
import torch

from mmcar.models import GumbelSampler
from mmcar.models.segmentors.predicting import SMALLEST
from mmcar.sampling.support_points import representative
from mmcar.structures import to_original
from mmcar.utils.errors import UserError
from tests.test_models.test_segmentors.test_car_segmentor import with_black_box
from tests.toys import toy_batch, toy_config, toy_model


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


@pytest.mark.parametrize('ori_shape', [(16, 16), (24, 20), (9, 11)])
def test_one_hot_samples_are_those_of_resized_probabilities(ori_shape):
    head = toy_config()['decode_head']
    head.update(
        num_classes=5, generator=dict(type='GumbelSampler'), temperature=0.2
    )
    model = toy_model(decode_head=head, discriminator=None).eval()
    batch = toy_batch(num_classes=5)
    for sample in batch['data_samples']:
        sample.set_metainfo(dict(ori_shape=ori_shape))
    data = model.data_preprocessor(toy_batch(num_classes=5))
    state = model.encode(data['inputs'], data['data_samples'])
    z = model.draw_noise(data['inputs'], data['data_samples'], 5, (0,))
    probs = model.sample(state, z)
    for i, sample in enumerate(model.test_step(batch)):
        resized = to_original(probs[:, i], sample.metainfo, False)
        labels = sample.pred_samples.data.long()
        assert torch.equal(labels, resized.argmax(1))
        assert len(labels.unique()) > 2
        torch.testing.assert_close(sample.sample_probs.data, resized.mean(0))


def one_hot_model():
    """A training-free model, whose label maps come in one chunk."""
    head = toy_config()['decode_head']
    head['generator'] = dict(type='GumbelSampler')
    return toy_model(decode_head=head, discriminator=None).eval()


@pytest.mark.parametrize('least', [-80.0, -200.0, -torch.inf])
def test_log_probabilities_of_the_model_are_not_written_to(least):
    model = one_hot_model()
    given = torch.zeros(1, 2, 16, 16).log_softmax(1)
    given[:, 1, :3] = least
    before = given.clone()
    model.decode_head.calibrate = lambda *args, **kwargs: given
    (sample,) = model.predict(torch.zeros(1, 3, 16, 16))
    assert torch.equal(given, before)
    logits = sample.seg_logits.data
    assert torch.equal(logits, before[0].clamp_min(math.log(SMALLEST)))
    copied = logits.data_ptr() != given.data_ptr()
    assert copied == (least < -88)


def test_a_prediction_does_not_hold_those_of_the_batch():
    for sample in one_hot_model().test_step(toy_batch()):
        for key in ('seg_logits', 'pred_samples', 'sample_probs'):
            data = sample.get(key).data
            assert data.untyped_storage().nbytes() == data.nbytes, key


def test_support_points_are_some_of_the_draws_that_stand_for_all():
    model = toy_model().eval()
    model.test_cfg.update(num_samples=20)
    draws = model.test_step(toy_batch())
    assert model.draws_independently
    model.test_cfg.update(num_samples=4, support_points=20)
    kept = model.test_step(toy_batch())
    assert not model.draws_independently
    for all_, few in zip(draws, kept, strict=True):
        maps, own = all_.pred_samples.data, few.pred_samples.data
        assert len(own) == 4
        assert all((maps == one).all((1, 2)).any() for one in own)
        expected = representative(maps, 4, 2)
        assert torch.equal(own, expected)
        assert torch.equal(all_.sample_probs.data, few.sample_probs.data)


def test_fewer_draws_than_samples_are_refused():
    with pytest.raises(UserError, match='support_points'):
        toy_model(test_cfg=dict(num_samples=16, support_points=8))


def test_sobol_noise_is_not_independent():
    assert not toy_model(noise=dict(type='SobolNoise')).draws_independently


@pytest.mark.parametrize('size', [(16, 16), (16, 15)])
@pytest.mark.parametrize('meta', [{}, dict(ori_shape=(24, 20))])
@pytest.mark.parametrize('images', [1, 2])
def test_samples_by_rows_are_those_drawn_at_once(
    size, meta, images, monkeypatch
):
    """Where they are drawn so: one image, as it lies on disk."""
    monkeypatch.setattr('mmcar.sampling.kernels.class_argmax.BLOCK', 64)
    head = toy_config()['decode_head']
    head['generator'] = dict(type='GumbelSampler', temperature=0.1)
    model = toy_model(decode_head=head, discriminator=None).eval()
    model.test_cfg['samples_per_chunk'] = 2

    def predict():
        batch = toy_batch(size, images)
        for sample in batch['data_samples']:
            sample.set_metainfo(meta)
        return model.test_step(batch)

    drawn, sample_rows = [], GumbelSampler.sample_rows
    monkeypatch.setattr(
        GumbelSampler,
        'sample_rows',
        lambda *args: drawn.append(args[-1]) or sample_rows(*args),
    )
    by_rows = predict()
    assert bool(drawn) == (images == 1 and not meta)
    assert len(set(map(str, drawn))) in (0, 4)
    monkeypatch.setattr(GumbelSampler, 'draws_by_rows', False)
    for one, other in zip(by_rows, predict(), strict=True):
        assert torch.equal(one.pred_samples.data, other.pred_samples.data)
        torch.testing.assert_close(
            one.sample_probs.data, other.sample_probs.data, rtol=0, atol=1e-6
        )
