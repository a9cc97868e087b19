"""Floods are drawn again, and nothing else changes."""

import pytest
import torch

from mmcar.evaluation.functional import floods
from mmcar.models.segmentors import redrawing
from mmcar.utils.errors import UserError
from tests.toys import toy_batch, toy_config, toy_model

LARGEST = (1.0, 0.4)


def flooding_model(**test_cfg):
    """F: foreground has .1 everywhere, and 1 in a corner."""
    head = toy_config()['decode_head']
    head.update(generator=dict(type='GumbelSampler'))
    test_cfg = dict(dict(num_samples=64), **test_cfg)
    model = toy_model(
        decode_head=head, discriminator=None, test_cfg=test_cfg
    ).eval()
    probs = torch.full((16, 16), 0.1)
    probs[:4, :4] = 1 - 1e-6

    def calibrate(image, *_):
        return (
            torch.stack((1 - probs, probs)).log().repeat(len(image), 1, 1, 1)
        )

    model.decode_head.calibration = None
    model.decode_head.calibrate = calibrate
    return model


def samples_of(model):
    return [s.pred_samples.data for s in model.test_step(toy_batch())]


def test_no_sample_floods_and_the_others_stay_as_they_are():
    plain = samples_of(flooding_model())
    kept = samples_of(flooding_model(max_class_area=LARGEST))
    largest = torch.tensor(LARGEST).double()
    for before, after in zip(plain, kept, strict=True):
        flooded = floods(before, largest)
        assert flooded.any() and not flooded.all()
        assert not floods(after, largest).any()
        assert torch.equal(before[~flooded], after[~flooded])


def test_fewer_samples_are_the_first_of_more():
    many = samples_of(flooding_model(max_class_area=LARGEST))
    few = samples_of(flooding_model(max_class_area=LARGEST, num_samples=9))
    for one, other in zip(few, many, strict=True):
        assert torch.equal(one, other[:9])


def test_samples_are_drawn_in_chunks(monkeypatch):
    """Methods without a faster way hold probabilities of a whole chunk."""
    whole = samples_of(flooding_model(max_class_area=LARGEST))
    model = flooding_model(max_class_area=LARGEST, samples_per_chunk=7)
    sizes, draw = [], model.sample_labels
    monkeypatch.setattr(
        model,
        'sample_labels',
        lambda state, z: sizes.append(len(z)) or draw(state, z),
    )
    for one, other in zip(whole, samples_of(model), strict=True):
        assert torch.equal(one, other)
    assert max(sizes) == 7


def test_support_points_are_chosen_among_what_does_not_flood():
    maps = samples_of(
        flooding_model(
            max_class_area=LARGEST, num_samples=8, support_points=64
        )
    )
    largest = torch.tensor(LARGEST).double()
    assert all(len(one) == 8 for one in maps)
    assert not any(floods(one, largest).any() for one in maps)


def test_what_cannot_be_helped_stays(monkeypatch):
    """A corner that is always foreground is too much, whatever is drawn."""
    monkeypatch.setattr(redrawing, 'TRIES', 3)
    maps = samples_of(flooding_model(max_class_area=(1.0, 0.01)))
    assert all((one[:, :4, :4] == 1).all() for one in maps)


def test_padding_does_not_count():
    """Half of the input is padding: what is left is all foreground."""
    model = flooding_model(max_class_area=(1.0, 0.9), num_samples=4)
    batch = toy_batch()
    inputs = torch.stack(batch['inputs']).float()
    for sample in batch['data_samples']:
        sample.set_metainfo(dict(img_padding_size=(0, 12, 0, 12)))
    state = model.encode(inputs, batch['data_samples'])
    z = model.draw_noise(inputs, batch['data_samples'], 4, (0,))
    labels = model.sample_labels(state, z)
    largest = torch.tensor((1.0, 0.9)).double()
    found = redrawing._flooded(labels, batch['data_samples'], largest)
    assert found.all()  # the corner, 4 of 4 rows and columns
    for sample in batch['data_samples']:
        sample.set_metainfo(dict(img_padding_size=(0, 0, 0, 0)))
    found = redrawing._flooded(labels, batch['data_samples'], largest)
    assert not found.all()


@pytest.mark.parametrize('wrong', [(1.0,), (1.0, 1.2), (1.0, -0.1)])
def test_bad_shares_are_refused(wrong):
    with pytest.raises(UserError, match='max_class_area'):
        flooding_model(max_class_area=wrong)
