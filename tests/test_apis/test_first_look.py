from types import SimpleNamespace

import pytest
import torch
from mmengine.config import Config
from torch import nn

from mmcar.apis import first_look
from mmcar.apis.rehearsal import RehearsalHook
from mmcar.utils.errors import UserError


@pytest.fixture
def warned(monkeypatch):
    said = []
    monkeypatch.setattr(first_look, '_warn', said.append)
    return said


class Images(list):
    def get_data_info(self, index):
        return dict(img_path=self[index])


def loop_of(*paths):
    loader = SimpleNamespace(dataset=Images(paths))
    return SimpleNamespace(dataloader=loader)


def test_shared_images_are_told(warned):
    loops = dict(
        train=loop_of('a/0.png', 'a/../b/1.png'),
        val=loop_of('c/0.png'),
        test=None,
    )
    first_look.warn_of_shared_images(loops)
    assert not warned
    loops['test'] = loop_of('b/1.png', 'b/2.png')
    first_look.warn_of_shared_images(loops)
    (said,) = warned
    assert said.startswith('test_dataloader: 1 of 2 images')
    assert 'b/1.png' in said


def test_pipelines_that_pack_nothing():
    first_look.check_packed(
        'val', dict(inputs=torch.zeros(3, 2, 2), data_samples=1)
    )
    with pytest.raises(UserError, match=r'val_dataloader.*PackStochastic'):
        first_look.check_packed('val', dict(img=1))


def test_weights_to_start_from(warned):
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    runner = SimpleNamespace(model=model, _load_from='last.pth')

    def check(weights, **more):
        hook = RehearsalHook(Config(dict(load_from='start.pth', **more)))
        hook.after_load_checkpoint(runner, dict(state_dict=weights))

    check(model.state_dict())
    assert not warned
    check({f'module.{k}': w for k, w in model[:1].state_dict().items()})
    (said,) = warned
    assert 'has 2 of the 4 weights' in said
    other = {k: w[:1] for k, w in model.state_dict().items() if k[0] == '0'}
    with pytest.raises(UserError, match='none of its 2 weights'):
        check(other)
    with pytest.raises(UserError, match=r'resume from, last\.pth'):
        check(other, resume=True)


def test_scores_that_are_never_taken():
    loop = SimpleNamespace(val_begin=9, max_iters=8, val_interval=4)
    runner = SimpleNamespace(train_loop=loop)
    first_look.check_scored(runner, None)
    with pytest.raises(UserError, match='val_begin=9'):
        first_look.check_scored(runner, 'GED_16')
    loop.val_begin = 8
    first_look.check_scored(runner, 'GED_16')
