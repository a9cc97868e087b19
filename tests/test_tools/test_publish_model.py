"""tools/misc/publish_model.py: small, whole, and named by its content."""

import hashlib

import pytest
import torch

from mmcar.utils.errors import UserError
from tests.test_tools.scripts import load_script

publish = load_script('misc/publish_model.py').publish


@pytest.fixture
def trained(tmp_path):
    """A checkpoint as a training leaves it."""
    torch.manual_seed(0)
    shared = torch.randn(100, 8)
    path = tmp_path / 'iter_9.pth'
    state = dict(norm=torch.tensor([1e-7]), count=torch.tensor(3))
    meta = dict(dataset_meta=dict(classes=('a', 'b')), iter=9)
    checkpoint = dict(
        meta=dict(meta, cfg="work_dir='/home/me'"),
        state_dict=dict(state, weight=shared[:2]),
        optimizer=dict(state={0: torch.randn(1000)}),
        ema_state_dict=dict(weight=torch.randn(2, 8)),
        message_hub=dict(runtime_info={}),
    )
    torch.save(checkpoint, path)
    return path, shared[:2]


def test_weights_stay_and_all_else_goes(trained, tmp_path):
    path, weight = trained
    out = publish(str(path), tmp_path / 'small', full=False)
    digest = hashlib.sha256(out.read_bytes()).hexdigest()
    assert out.name == f'small-{digest[:8]}.pth'
    small = torch.load(out, weights_only=True)
    assert set(small) == {'meta', 'state_dict'}
    assert set(small['meta']) == {'dataset_meta', 'iter'}
    assert b'/home/me' not in out.read_bytes()
    state = small['state_dict']
    assert state['weight'].dtype == torch.float16
    assert torch.allclose(state['weight'].float(), weight, rtol=1e-3)
    assert state['norm'].item() == pytest.approx(1e-7), 'not rounded to 0'
    assert state['count'].item() == 3
    assert state['weight'].untyped_storage().nbytes() == 2 * 16


@pytest.mark.parametrize(
    ('content', 'said'),
    [
        (dict(state_dict=dict(big=torch.full((1, 2), 1e6))), r'big: 1e\+06'),
        (dict(optimizer={}), 'optimizer'),
    ],
)
def test_what_cannot_be_published_is_named(tmp_path, content, said):
    path = tmp_path / 'x.pth'
    torch.save(content, path)
    with pytest.raises(UserError, match=said):
        publish(str(path), tmp_path / 'small', full=False)
    assert not list(tmp_path.glob('small*'))
    if 'state_dict' in content:  # float16 cannot hold it, float32 can
        publish(str(path), tmp_path / 'small', full=True)
