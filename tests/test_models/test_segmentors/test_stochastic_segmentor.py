"""What every model that samples has from its base class."""

import copy
import math
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from mmcar.models.segmentors import stochastic_segmentor
from mmcar.sampling import representative
from mmcar.structures import floods, to_original
from mmcar.utils.errors import UserError
from tests.test_models.test_segmentors.test_car_segmentor import with_black_box
from tests.toys import toy_batch, toy_config, toy_model


class TestNoise:
    image = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))

    def draw(self, samples, seed=(0,), image=None):
        image = self.image if image is None else image
        return toy_model().draw_noise(image, samples, 3, seed)

    def test_depends_on_the_name_not_on_the_place(self):
        samples = toy_batch()['data_samples']
        noise = self.draw(samples)
        assert torch.equal(noise, self.draw(samples[::-1]).flip(1))
        assert not torch.equal(noise, self.draw(samples, (1,)))
        samples[0].set_metainfo(dict(img_path='/elsewhere/toy/0.png'))
        assert torch.equal(noise, self.draw(samples)), 'by where it lies'
        samples[0].set_metainfo(dict(img_path='other/0.png'))
        assert not torch.equal(noise[:, 0], self.draw(samples)[:, 0])
        assert torch.equal(noise[:, 1], self.draw(samples)[:, 1])
        samples[0].set_metainfo(dict(sample_key='another'))
        assert not torch.equal(noise[:, 0], self.draw(samples)[:, 0])

    def test_two_images_do_not_share_it(self):
        model, samples = toy_model(), toy_batch()['data_samples']
        for sample in samples:
            sample.set_metainfo(dict(sample_key='val/0.png'))
        model.draw_noise(self.image[:1], samples[:1], 3, (0,))
        with pytest.raises(UserError, match=r'toy/0.* and toy/1'):
            model.draw_noise(self.image[:1], samples[1:], 3, (0,))

    def test_paths_that_end_alike_share_it_and_that_is_told(self, monkeypatch):
        lines = []

        def log(line, **_):
            lines.append(line)

        monkeypatch.setattr(stochastic_segmentor, 'print_log', log)
        model, samples = toy_model(), toy_batch()['data_samples']
        for folder, sample in zip('ab', samples, strict=True):
            sample.set_metainfo(dict(img_path=f'/{folder}/val/0.png'))
        for _ in range(2):
            noise = model.draw_noise(self.image, samples, 3, (0,))
        assert torch.equal(noise[:, 0], noise[:, 1])
        (line,) = lines
        assert '/a/val/0.png and /b/val/0.png' in line

    def test_images_without_a_name_do_not_share_it(self):
        nameless = toy_batch()['data_samples']
        for sample in nameless:
            sample.set_metainfo(dict(img_path=None))
        for samples in (None, nameless):
            noise = self.draw(samples)
            assert not torch.equal(noise[:, 0], noise[:, 1])
            turned = self.draw(samples, image=self.image.flip(0))
            assert torch.equal(noise, turned.flip(1)), 'not by content'


def test_predictions_have_every_field():
    model = toy_model(decode_head=with_black_box()).eval()
    batch = toy_batch()
    for sample in batch['data_samples']:
        sample.set_metainfo(dict(ori_shape=(24, 20)))
    for sample in model.test_step(batch):
        assert sample.pred_sem_seg.data.shape == (1, 24, 20)
        assert sample.pred_samples.data.shape == (5, 24, 20)
        assert sample.pred_samples.data.dtype == torch.uint8
        assert sample.black_box_probs.data.shape == (3, 24, 20)
        probs = [sample.seg_logits.data.exp(), sample.sample_probs.data]
        for one in (*probs, sample.black_box_probs.data):
            torch.testing.assert_close(one.sum(0), torch.ones(24, 20))


def test_predictions_do_not_depend_on_batch_order_or_chunks():
    model, batch = toy_model().eval(), toy_batch()
    reverse = {key: value[::-1] for key, value in toy_batch().items()}
    first = model.test_step(batch)
    model.test_cfg['samples_per_chunk'] = 2
    second = model.test_step(reverse)[::-1]
    for pair in zip(first, second, strict=True):
        torch.testing.assert_close(*(s.sample_probs.data for s in pair))


@pytest.mark.parametrize(
    'meta',
    [
        dict(ori_shape=(24, 20)),
        dict(ori_shape=(9, 11)),
        dict(flip=True, flip_direction='vertical'),
        dict(flip=True, flip_direction='diagonal', ori_shape=(16, 20)),
    ],
)
def test_one_hot_samples_are_those_of_probabilities_as_the_image_was(meta):
    """Resized, and turned back where a test flipped the image."""
    model = one_hot_model(num_classes=5, temperature=0.2)
    batch = toy_batch(num_classes=5)
    for sample in batch['data_samples']:
        sample.set_metainfo(meta)
    data = model.data_preprocessor(copy.deepcopy(batch))
    state = model.encode(*data.values())
    z = model.draw_noise(*data.values(), 5, (0,))
    probs, log_probs = model.sample(state, z), model.log_probs(state)
    for i, sample in enumerate(model.test_step(batch)):
        resized = to_original(probs[:, i], sample.metainfo, False)
        labels = sample.pred_samples.data.long()
        assert torch.equal(labels, resized.argmax(1))
        assert len(labels.unique()) > 2
        torch.testing.assert_close(sample.sample_probs.data, resized.mean(0))
        own = to_original(log_probs[i : i + 1].exp(), sample.metainfo, False)
        torch.testing.assert_close(sample.seg_logits.data.exp(), own[0])


def one_hot_model(test_cfg=None, **head):
    """A training-free model, whose label maps come in one chunk."""
    head = toy_config()['decode_head'] | head
    head['generator'] = dict(type='GumbelSampler')
    test_cfg = test_cfg or dict(num_samples=5)
    keys = dict(decode_head=head, discriminator=None, test_cfg=test_cfg)
    return toy_model(**keys).eval()


@pytest.mark.parametrize('least', [-80.0, -torch.inf])
def test_log_probabilities_of_the_model_are_not_written_to(least):
    model = one_hot_model()
    given = torch.zeros(1, 2, 16, 16).log_softmax(1)
    given[:, 1, :3] = least
    before = given.clone()
    model.decode_head.calibrate = lambda *args, **kwargs: given
    (sample,) = model.predict(torch.zeros(1, 3, 16, 16))
    assert torch.equal(given, before)
    logits = sample.seg_logits.data
    least = math.log(stochastic_segmentor.SMALLEST)
    assert torch.equal(logits, before[0].clamp_min(least))


def test_a_prediction_does_not_hold_those_of_the_batch():
    for sample in one_hot_model().test_step(toy_batch()):
        for key in ('seg_logits', 'pred_samples', 'sample_probs'):
            data = sample.get(key).data
            assert data.untyped_storage().nbytes() == data.nbytes, key


def test_threads_may_ask_one_model_for_different_things():
    model = toy_model().eval()
    before = dict(model.test_cfg)
    calls = [(n, seed) for n in (1, 2, 3) for seed in (0, 7)] * 4

    def draw(call):
        samples = model.test_step(toy_batch(), *call)
        return torch.stack([s.pred_samples.data for s in samples])

    alone = [draw(call) for call in calls]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(draw, calls))
    for call, one, other in zip(calls, alone, together, strict=True):
        assert one.shape[1] == call[0] and torch.equal(one, other)
    assert not torch.equal(alone[4], alone[5])
    assert model.test_cfg == before


def test_a_call_cannot_keep_more_than_is_drawn():
    model = toy_model(test_cfg=dict(num_samples=2, support_points=4))
    for asked in (0, 5):
        with pytest.raises(UserError, match=r'num_samples|support_points'):
            model.eval().test_step(toy_batch(), num_samples=asked)


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
        expected, weights = representative(maps, 4, 2)
        assert torch.equal(own, expected)
        assert torch.equal(few.sample_weights, weights)
        assert 'sample_weights' not in all_
        assert torch.equal(all_.sample_probs.data, few.sample_probs.data)


LARGEST = (1.0, 0.4)
SOME = dict(num_samples=8, support_points=64)


def flooding_model(**test_cfg):
    """F: foreground has .1 everywhere, and 1 in a corner."""
    model = one_hot_model(dict(num_samples=64) | test_cfg)
    probs = torch.full((16, 16), 0.1)
    probs[:4, :4] = 1 - 1e-6
    logs = torch.stack((1 - probs, probs)).log()
    model.decode_head.calibration = None
    model.decode_head.calibrate = lambda image, *_: logs.repeat(
        len(image), 1, 1, 1
    )
    return model


def samples_of(model):
    return [s.pred_samples.data for s in model.test_step(toy_batch())]


def test_no_sample_floods_and_the_others_stay_as_they_are():
    plain = samples_of(flooding_model())
    kept = samples_of(flooding_model(max_class_area=LARGEST))
    few, some = (
        samples_of(flooding_model(max_class_area=LARGEST, **asked))
        for asked in (dict(num_samples=9), SOME)
    )
    largest = torch.tensor(LARGEST).double()
    for i, (before, after) in enumerate(zip(plain, kept, strict=True)):
        assert torch.equal(few[i], after[:9])  # the first of more
        assert len(some[i]) == 8 and not floods(some[i], largest).any()
        flooded = floods(before, largest)
        assert flooded.any() and not flooded.all()
        assert not floods(after, largest).any()
        assert torch.equal(before[~flooded], after[~flooded])


def test_samples_are_drawn_in_chunks(monkeypatch):
    """Methods without a faster way hold probabilities of a whole chunk."""
    whole = samples_of(flooding_model(max_class_area=LARGEST))
    model = flooding_model(max_class_area=LARGEST, samples_per_chunk=7)
    sizes, draw = [], model.sample_labels

    def watched(state, z):
        sizes.append(len(z))
        return draw(state, z)

    monkeypatch.setattr(model, 'sample_labels', watched)
    for one, other in zip(whole, samples_of(model), strict=True):
        assert torch.equal(one, other)
    assert max(sizes) == 7


def test_what_cannot_be_helped_stays(monkeypatch):
    """A corner that is always foreground is too much, whatever is drawn."""
    monkeypatch.setattr(stochastic_segmentor, 'TRIES', 3)
    maps = samples_of(flooding_model(max_class_area=(1.0, 0.01)))
    assert all((one[:, :4, :4] == 1).all() for one in maps)


def test_padding_does_not_count():
    """Half of the input is padding: what is left is all foreground."""
    batch = toy_batch()
    inputs = torch.stack(batch['inputs']).float()
    model = flooding_model(max_class_area=(1.0, 0.9), num_samples=4)
    state = model.encode(inputs, batch['data_samples'])
    z = model.draw_noise(inputs, batch['data_samples'], 4, (0,))
    z.zero_()  # background but for the corner
    samples = batch['data_samples']
    for right, flooded in ((0, False), (12, True)):
        for sample in samples:
            padding = dict(img_padding_size=(0, right, 0, right))
            sample.set_metainfo(padding)
        kept = model._redraw_floods(state, z, inputs, samples, seed=0)
        assert torch.equal(kept, z) != flooded
