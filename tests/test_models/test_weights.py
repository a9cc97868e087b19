import pytest
import torch
from torch import nn

from mmcar.models.weights import load_checkpoint, load_weights
from mmcar.utils.errors import MissingFileError


def load(weights):
    model = nn.Linear(2, 3)
    load_weights(model, weights, source='x.pth')
    return model


def test_prefix_of_wrappers_and_weights_of_others_do_no_harm():
    weights = nn.Linear(2, 3).state_dict()
    found = load({f'module.{k}': v for k, v in weights.items()}).state_dict()
    assert all(torch.equal(found[key], weights[key]) for key in weights)
    load({**weights, 'aux': torch.zeros(1)})


def test_missing_and_misshapen_weights_are_named():
    with pytest.raises(ValueError, match=r'x\.pth(.|\n)*weight: \(4, 2\)'):
        load({'weight': torch.zeros(4, 2), 'bias': torch.zeros(3)})
    with pytest.raises(ValueError, match='bias: not in the file'):
        load({'weight': torch.zeros(3, 2)})


def test_a_checkpoint_is_read_whole_or_named(tmp_path):
    model, other = nn.Linear(2, 3), nn.Linear(2, 3)
    path = str(tmp_path / 'a.pth')
    torch.save(dict(state_dict=other.state_dict(), meta=dict(seed=3)), path)
    loaded = load_checkpoint(model, path)
    assert loaded['meta'] == dict(seed=3)
    assert torch.equal(model.weight, other.weight)
    with pytest.raises(MissingFileError, match='key=1 cannot be read'):
        load_checkpoint(model, f'{path}x', source='key=1')
