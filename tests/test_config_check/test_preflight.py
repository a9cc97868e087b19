"""What would fail later fails first, and nothing changes."""

import random
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.dataset import InfiniteSampler
from torch.utils.data import DataLoader

from mmcar.apis.training import build_runner, dry_run, train
from mmcar.config_check import ConfigError
from mmcar.config_check.preflight import (
    check_item,
    first_keys,
    other_units,
    random_weights,
    shared_images,
    untouched,
)
from mmcar.engine.optimizers import NoUpdate
from mmcar.utils.errors import UserError
from tests.test_config_check.bases import on_black_box, small
from tests.test_config_check.corpus import changed
from tests.toys import toy_batch, toy_config, toy_model, toy_optims


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


def test_no_other_gpu_is_asked(monkeypatch):
    """Each would get a context of this process, and fail if it is taken."""
    monkeypatch.setattr(torch.cuda, 'device_count', lambda: 4)
    with untouched(toy_model()):
        pass


def weights_after(optims) -> list[bool]:
    model = toy_model()
    before = {k: v.clone() for k, v in model.named_parameters()}
    model.train_step(toy_batch(), optims(model))
    return [torch.equal(v, before[k]) for k, v in model.named_parameters()]


def test_nothing_is_learnt_without_an_update():
    names = toy_model().networks()
    idle = {name: NoUpdate(backward=True) for name in names}
    assert all(weights_after(lambda _: idle))
    assert not all(weights_after(toy_optims))


def config(cfg: dict, folder, name: str) -> Config:
    return Config(dict(cfg, work_dir=str(folder / name), experiment_name=name))


def trained(cfg: dict, folder, name: str, check: bool = True) -> dict:
    runner = build_runner(config(cfg, folder, name), check)
    train(runner)
    return runner.model.state_dict()


def test_training_is_the_same_with_and_without(tmp_path):
    cfg = small(tmp_path / 'data')
    checked = trained(cfg, tmp_path, 'checked')
    unchecked = trained(cfg, tmp_path, 'unchecked', check=False)
    assert checked.keys() == unchecked.keys()
    assert all(torch.equal(checked[key], unchecked[key]) for key in checked)


def test_a_later_phase_fails_before_the_first(tmp_path):
    loss = {'model.loss_samples': dict(type='EnergyLoss', classes=[5])}
    cfg = changed(small(tmp_path / 'data'), dict(change=loss), tmp_path)
    with pytest.raises(ConfigError) as caught:
        trained(cfg, tmp_path, 'fails')
    assert [f.path for f in caught.value.findings] == [*loss]
    assert not list(tmp_path.rglob('*.pth'))


def test_warnings_are_errors_if_that_is_wanted(tmp_path):
    cfg = small(tmp_path / 'data')
    cfg['val_dataloader']['drop_last'] = True
    report = dry_run(config(cfg, tmp_path, 'told'))
    assert 'warning: val_dataloader.drop_last' in report
    assert '[scored-in-part]' in report
    with pytest.raises(ConfigError, match='drop_last'):
        dry_run(config(cfg, tmp_path, 'strict'), strict=True)


def test_images_that_share_a_key(tmp_path):
    cfg = small(tmp_path / 'data')
    dataset = cfg['train_dataloader']['dataset']
    shutil.copytree(tmp_path / 'data', tmp_path / 'other')
    other = {**dataset, 'data_root': str(tmp_path / 'other')}
    joined = dict(type='ConcatDataset', datasets=[dataset, other])
    cfg['train_dataloader']['dataset'] = joined
    with pytest.raises(ConfigError, match=r'train_dataloader.*key_prefix'):
        dry_run(config(cfg, tmp_path, 'joined'))
    other['key_prefix'] = 'other'
    assert 'Total' in dry_run(config(cfg, tmp_path, 'joined_with_prefix'))


def test_a_config_that_is_only_tested(tmp_path):
    cfg = small(tmp_path / 'data')
    for key in ('dataloader', 'evaluator', 'cfg'):
        cfg.pop(f'val_{key}')
    for key in ('train_dataloader', 'train_cfg', 'optim_wrapper'):
        cfg.pop(key)
    cfg.update(param_scheduler=None, custom_hooks=[])
    report = dry_run(config(cfg, tmp_path, 'work'))
    assert 'test   4 images, 2 in a batch: inputs 3x16x16' in report
    assert 'by tools/test.py' in report and 'GED_3' in report
    assert 'Total' not in report and 'Checkpoints' not in report
    assert not (tmp_path / 'work').exists(), 'nothing is written'
    cfg['test_evaluator']['num_samples'] = 99
    with pytest.raises(ConfigError, match='test_evaluator'):
        dry_run(config(cfg, tmp_path, 'more'))


def test_a_stock_sampler_still_gives_its_sequence_after_a_look():
    data = list(range(10, 20))
    seen = []
    for looks in (0, 2):
        sampler = InfiniteSampler(data, shuffle=True, seed=3)
        loader = DataLoader(
            data, batch_size=4, sampler=sampler, collate_fn=list
        )
        for _ in range(looks):
            assert first_keys(loader, 2) == [0, 1]
        seen.append(next(iter(loader)))
    assert seen[0] == seen[1] and len(seen[0]) == 4


def test_numbers_in_the_units_of_the_images():
    model = toy_model()
    for std, largest, right in (
        *((0.2, 255, False), (0.2, 1, True), (50.0, 255, True)),
        *((1, 4000, True), (0, 255, False), (-1, 255, False)),
    ):
        model.data_preprocessor.std = torch.full((3, 1, 1), float(std))
        found = other_units(model, [torch.full((3, 2, 2), largest)])
        assert bool(found) is not right, (std, largest)
    model = toy_model()
    model.data_preprocessor.mean = torch.full((3, 1, 1), -500.0)
    assert other_units(model, [torch.zeros(3, 2, 2, dtype=torch.uint8)])
    assert not other_units(model, [torch.zeros(3, 2, 2)])


class Images(list):
    def get_data_info(self, index):
        return dict(img_path=self[index])


def test_shared_images_are_told():
    datasets = dict(train=Images(['a/0.png', 'a/../b/1.png']))
    datasets['val'] = Images(['c/0.png'])
    assert not shared_images(datasets)
    datasets['test'] = Images(['b/1.png', 'b/2.png'])
    (found,) = shared_images(datasets)
    assert found.path == 'test_dataloader.dataset' and '1 of 2' in found.text


def test_pipelines_that_pack_nothing():
    check_item('val', dict(inputs=torch.zeros(3, 2, 2), data_samples=1))
    with pytest.raises(UserError, match=r'val_dataloader.*PackStochastic'):
        check_item('val', dict(img=1))
    with pytest.raises(UserError, match='labels'):
        check_item('train', dict(inputs=1, data_samples={}))


def test_networks_that_nothing_trains(tmp_path):
    def warned(model, trained, loaded=()):
        phases = [SimpleNamespace(train=tuple(trained), iters=1)]
        schedule = SimpleNamespace(phases=phases)
        loop = SimpleNamespace(schedule=schedule)
        runner = SimpleNamespace(model=model, train_loop=loop)
        return [f.path for f in random_weights(runner, {*loaded})]

    model = toy_model()
    names = [*model.networks()]
    assert not warned(model, names)
    assert warned(model, names[1:]) == ['model.decode_head.calibration']
    assert not warned(model, names[1:], model.state_dict())
    box = on_black_box(tmp_path)['model']['decode_head']['black_box']
    assert not warned(toy_model(decode_head=with_box(box)), names)
    box['checkpoint'] = None
    found = warned(toy_model(decode_head=with_box(box)), names)
    assert found == ['model.decode_head.black_box']


def with_box(box: dict) -> dict:
    return dict(toy_config()['decode_head'], black_box=box)
