"""Between the image on disk and the padded input."""

import pytest
import torch

from mmcar.structures import is_resized, to_input, to_original

META = dict(ori_shape=(3, 4), img_padding_size=(0, 2, 0, 1))


def test_padding_is_put_on_and_taken_off():
    maps = torch.arange(12.0).view(1, 3, 4)
    padded = to_input(maps, META, (4, 6), fill=9.0)
    assert padded.shape == (1, 4, 6)
    assert (padded[:, 3] == 9).all() and (padded[:, :, 4:] == 9).all()
    assert torch.equal(to_original(padded, META, False), maps)


@pytest.mark.parametrize('name', ['img_padding_size', 'padding_size'])
def test_maps_of_the_original_size_are_resized_first(name):
    maps = torch.tensor([[[1.0, 2.0]]])
    meta = {'ori_shape': (1, 2), name: (0, 1, 0, 1)}
    found = to_input(maps, meta, (3, 5), fill=0.0)
    expected = [[1, 1, 2, 2, 0], [1, 1, 2, 2, 0], [0] * 5]
    assert found[0].tolist() == expected


@pytest.mark.parametrize(
    ('direction', 'axes'), [('vertical', (-2,)), ('diagonal', (-2, -1))]
)
def test_mirrored_images_are_turned_back(direction, axes):
    maps = torch.rand(2, 1, 3, 4)
    meta = dict(ori_shape=(3, 4), flip=True, flip_direction=direction)
    assert torch.equal(to_original(maps.flip(axes), meta, False), maps)


def test_resized_means_another_size_without_the_padding():
    padded = torch.zeros(1, 4, 6)
    assert not is_resized(padded, META)
    assert not is_resized(padded, {})
    assert is_resized(padded, META | dict(ori_shape=(6, 8)))
    found = to_original(padded[None], dict(ori_shape=(8, 9)), False)
    assert found.shape == (1, 1, 8, 9)
