"""Deep ensembles and views: a part and its draw."""

import copy

import pytest
import torch
from mmengine.config import Config
from mmseg.registry import MODELS

from mmcar.models.methods.mixture import choose
from mmcar.models.views import View
from mmcar.utils.errors import UserError
from tests.toys import toy_batch

from .models import METHODS, TRAINING_FREE


def build(cfg, **changes):
    torch.manual_seed(0)
    return MODELS.build(copy.deepcopy(cfg) | changes).eval()


def test_parts_are_equally_likely():
    z = torch.randn(30000, generator=torch.Generator().manual_seed(0))
    counts = choose(z, 3).bincount(minlength=3) / len(z)
    assert (counts - 1 / 3).abs().max() < 0.01
    assert choose(torch.tensor([-40.0, 40.0]), 3).tolist() == [0, 2]


@pytest.mark.parametrize('name', ['deep_ensemble', 'views'])
@torch.no_grad()
def test_a_sample_is_the_chosen_part_and_its_draw(name):
    model = build(METHODS[name])
    image = torch.randn(3, 3, 16, 16)
    state = model.encode(image)
    z = torch.randn(9, 3, *model.noise_shape((16, 16)))
    chosen = choose(z[..., 0], len(state))
    assert len(chosen.unique()) > 1
    labels = model.sample_labels(state, z)
    probs = model.sample(state, z)
    assert torch.equal(probs.argmax(2), labels)
    for s in range(9):
        for b in range(3):
            part = state[int(chosen[s, b])]
            own = part.model.sample_labels(part.state, z[s : s + 1, :, 1:])
            assert torch.equal(part.back(own)[0, b], labels[s, b])


def test_members_come_from_checkpoints_of_one_config(tmp_path):
    paths, members = [], []
    for seed in range(3):
        torch.manual_seed(seed)
        members.append(MODELS.build(copy.deepcopy(TRAINING_FREE)).eval())
        paths.append(str(tmp_path / f'{seed}.pth'))
        torch.save(dict(state_dict=members[-1].state_dict()), paths[-1])
    file = tmp_path / 'member.py'
    Config(dict(model=TRAINING_FREE)).dump(file)
    ensemble = dict(type='DeepEnsemble', checkpoints=paths)
    model = build(ensemble, member=str(file))
    assert model.networks() == {}  # nothing to train
    assert not any(p.requires_grad for p in model.parameters())
    image = torch.randn(1, 3, 16, 16)
    for part, member in zip(model.encode(image), members, strict=True):
        expected = member.log_probs(member.encode(image))
        torch.testing.assert_close(part.model.log_probs(part.state), expected)
    assert len(model.test_step(toy_batch())) == 2
    norm = dict(TRAINING_FREE['data_preprocessor'], mean=[0.0] * 3)
    for name in ('deep_ensemble', 'views', 'exact_margins'):
        with pytest.raises(UserError, match='data_preprocessor'):
            build(METHODS[name], data_preprocessor=norm)
    with pytest.raises(UserError, match='num_members=2'):
        build(METHODS['deep_ensemble'], checkpoints=paths)
    head = dict(TRAINING_FREE['decode_head'], num_classes=3)
    with pytest.raises(UserError, match=r'0\.pth.*does not fit'):
        build(ensemble, member=dict(TRAINING_FREE, decode_head=head))


def test_views_are_undone_exactly():
    image = torch.randn(2, 3, 4, 6)
    seen = set()
    for turns in range(4):
        for flip in (False, True):
            view = View(turns, flip)
            look = view.look(image)
            assert torch.equal(view.back(look, (4, 6)), image)
            seen.add(tuple(look.flatten().tolist()))
    assert len(seen) == 8
    half = View(1, True, 0.5).look(image)
    assert half.shape == (2, 3, 3, 2)
    assert View(1, True, 0.5).back(half, (4, 6)).shape == image.shape


def test_views_of_images_that_are_not_square_are_flips():
    model = build(METHODS['views'])
    assert len(model.encode(torch.ones(1, 3, 16, 16))) == 8
    parts = model.encode(torch.ones(1, 3, 16, 20))
    assert len(parts) == 4
    assert model.log_probs(parts).shape == (1, 2, 16, 20)


def test_the_net_sees_the_view_and_samples_are_turned_back():
    model = build(METHODS['views'])
    image = torch.randn(1, 3, 16, 16)
    parts = model.encode(image)
    inner = model.model
    seen = image.rot90(1, (2, 3)).flip(3)
    expected = inner.log_probs(inner.encode(seen)).flip(3).rot90(-1, (2, 3))
    found = [p.back(p.model.log_probs(p.state)) for p in parts]
    assert any(torch.allclose(f, expected) for f in found)


def test_scales_need_noise_of_one_size():
    model = build(METHODS['views'], scales=(1.0, 0.75))
    assert len(model.encode(torch.ones(1, 3, 16, 16))) == 16
    model = build(METHODS['views'], model=METHODS['ssn'], scales=(0.5,))
    with pytest.raises(UserError, match='leave scales out'):
        model.encode(torch.ones(1, 3, 16, 16))
    with pytest.raises(UserError, match='scales'):
        build(METHODS['views'], scales=(0.0,))
