"""What would fail later fails first, and nothing changes."""

import random

import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.dataset import InfiniteSampler
from torch.utils.data import DataLoader

from mmcar.apis.rehearsal import (
    RehearsalHook,
    check_normalization,
    few_images,
    untouched,
)
from mmcar.apis.training import build_runner, train
from mmcar.utils.errors import UserError
from tests.test_datasets.encoding import png16
from tests.test_tools.project import write_data
from tests.test_wrong_configs.running import change, right_config
from tests.toys import toy_batch, toy_model, toy_optims


def test_untouched():
    model = toy_model()
    first = next(model.parameters())
    first.grad = torch.ones_like(first)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    model.eval()
    states = torch.get_rng_state(), np.random.get_state()[1].copy()
    with untouched(model):
        model.train()
        for buffer in model.buffers():
            buffer.add_(1)
        first.grad = None
        torch.rand(3), np.random.rand(3), random.random()
    assert all(
        torch.equal(v, before[k]) for k, v in model.state_dict().items()
    )
    assert first.grad is not None and bool((first.grad == 1).all())
    assert not model.training
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (np.random.get_state()[1] == states[1]).all()


def trained(cfg: dict, folder, name: str, rehearse: bool) -> dict:
    cfg = Config(dict(cfg, work_dir=str(folder / name), experiment_name=name))
    runner = build_runner(cfg)
    if rehearse:
        train(runner, RehearsalHook(cfg))
    else:
        runner.train()
    return runner.model.state_dict()


def test_training_is_the_same_with_and_without(tmp_path):
    cfg = right_config(tmp_path / 'data')
    with_it = trained(cfg, tmp_path, 'with_rehearsal', True)
    without = trained(cfg, tmp_path, 'without_rehearsal', False)
    assert with_it.keys() == without.keys()
    assert all(torch.equal(with_it[key], without[key]) for key in without)


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        (
            {'model.loss_samples': dict(type='EnergyLoss', classes=[5])},
            'model.loss_samples',
        ),
        ({'default_hooks.checkpoint.save_best': 'GED_9'}, 'save_best'),
    ],
)
def test_a_later_phase_fails_before_the_first(tmp_path, changes, words):
    cfg = change(right_config(tmp_path / 'data'), changes)
    if 'save_best' in words:
        cfg['default_hooks']['checkpoint']['rule'] = 'less'
    with pytest.raises(UserError, match=words):
        trained(cfg, tmp_path, f'fails_{words}', True)
    assert not list(tmp_path.rglob('*.pth'))


@pytest.mark.parametrize('split', ['train', 'val'])
def test_images_that_the_loader_clips(tmp_path, split):
    cfg = right_config(tmp_path / 'data')
    cfg[f'{split}_dataloader']['dataset']['pipeline'][0] = dict(
        type='LoadImageFromFile'
    )
    name = f'clipped_{split}'
    trained(cfg, tmp_path, name, True)
    deep = np.arange(256, dtype=np.uint16).reshape(16, 16) * 99
    path = tmp_path / 'data' / 'images' / split / '3.png'
    path.write_bytes(png16(deep[..., None]))
    with pytest.raises(UserError, match=rf'{split}_data.*uint16.*Checked'):
        trained(cfg, tmp_path, f'{name}_deep', True)


def test_images_that_share_a_key(tmp_path):
    cfg = right_config(tmp_path / 'data')
    write_data(tmp_path / 'other')
    dataset = cfg['train_dataloader']['dataset']
    other = {**dataset, 'data_root': str(tmp_path / 'other')}
    cfg['train_dataloader']['dataset'] = dict(
        type='ConcatDataset', datasets=[dataset, other]
    )
    with pytest.raises(UserError, match=r'train_dataloader.*key_prefix'):
        trained(cfg, tmp_path, 'joined', True)
    other['key_prefix'] = 'other'
    trained(cfg, tmp_path, 'joined_with_prefix', True)


def test_the_toys_learn():
    """The rehearsal's stand-in for an optimiser is what keeps them still."""
    model = toy_model()
    before = {k: v.clone() for k, v in model.named_parameters()}
    model.train_step(toy_batch(), toy_optims(model))
    changed = [
        not torch.equal(v, before[k]) for k, v in model.named_parameters()
    ]
    assert any(changed)


def test_a_stock_sampler_still_gives_its_sequence_after_a_look():
    data = list(range(10, 20))
    seen = []
    for looks in (0, 2):
        sampler = InfiniteSampler(data, shuffle=True, seed=3)
        loader = DataLoader(
            data, batch_size=4, sampler=sampler, collate_fn=list
        )
        for _ in range(looks):
            assert few_images(loader, 2) == [10, 11]
        seen.append(next(iter(loader)))
    assert seen[0] == seen[1] and len(seen[0]) == 4


@pytest.mark.parametrize(
    ('std', 'largest', 'right'),
    [(0.2, 255, False), (0.2, 1, True), (50.0, 255, True), (1, 4000, True)],
)
def test_deviations_in_the_units_of_the_images(std, largest, right):
    model = toy_model()
    model.data_preprocessor.std = torch.full((3, 1, 1), float(std))
    batch = dict(inputs=[torch.full((3, 2, 2), largest)])
    if right:
        check_normalization(model, batch)
        return
    with pytest.raises(UserError, match=r'data_preprocessor\.std.*up to 255'):
        check_normalization(model, batch)
