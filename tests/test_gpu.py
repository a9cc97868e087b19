"""What a CPU cannot show; `make test-gpu` where there are GPUs."""

import copy

import pytest
import torch
from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmseg.registry import DATASETS

from mmcar.engine import Schedule
from mmcar.models import StochasticSegmentor
from tests.test_configs import CONFIGS, build_model, tiny_batch
from tests.test_engine.runs import finish, weights
from tests.test_engine.test_distributed import HOOKS, on_two_ranks
from tests.test_tools.project import ROOT
from tests.toys import toy_batch, toy_config, toy_model, toy_optims

pytestmark = pytest.mark.gpu
TWO_GPUS = pytest.mark.skipif(
    torch.cuda.device_count() < 2, reason='needs two GPUs'
)


@pytest.mark.parametrize('amp', [False, True], ids=['float32', 'amp'])
@pytest.mark.parametrize('path', CONFIGS)
def test_every_config_trains_and_predicts(path, amp, monkeypatch):
    monkeypatch.chdir(ROOT)
    cfg = Config.fromfile(path)
    model = build_model(cfg)
    if not isinstance(model, StochasticSegmentor):
        pytest.skip('a stock model of MMSeg')
    model = model.cuda()
    dataset = dict(cfg.test_dataloader.dataset, lazy_init=True)
    flips = DATASETS.build(dataset).metainfo.get('class_flips', ())
    if cfg.get('train_cfg') and 'phases' in cfg.train_cfg:
        wrappers = copy.deepcopy(cfg.optim_wrapper)
        for wrapper in wrappers.values():
            if amp and isinstance(wrapper, dict):
                wrapper.type = 'AmpOptimWrapper'
        optims = build_optim_wrapper(model, wrappers)
        for phase in Schedule(cfg.train_cfg.phases).phases:
            log = model.train_step(
                tiny_batch(model, flips),
                {name: optims[name] for name in phase.train},
            )
            assert all(torch.as_tensor(v).isfinite() for v in log.values())
    (sample, _) = model.eval().test_step(tiny_batch(model, flips))
    assert sample.pred_samples.data.is_cuda


def test_samples_are_those_of_the_cpu():
    model = toy_model().eval()
    here = [s.pred_samples.data for s in model.test_step(toy_batch())]
    there = model.cuda().test_step(toy_batch())
    for one, other in zip(here, there, strict=True):
        same = (one == other.pred_samples.data.cpu()).float().mean()
        assert same > 0.999


@pytest.mark.parametrize('sync_bn', [None, 'torch'])
@TWO_GPUS
def test_two_nccl_ranks_stay_together(tmp_path, sync_bn):
    head = toy_config()['decode_head']
    for part in ('calibration', 'generator'):  # dropout differs by rank
        head[part].update(norm_cfg=dict(type='BN'), dropout=0.0)
    arguments = dict(
        work_dir=str(tmp_path),
        model=toy_config(decode_head=head),
        custom_hooks=HOOKS,
        sync_bn=sync_bn,
    )
    for process in on_two_ranks(arguments, BACKEND='nccl'):
        finish(process)
    left, right = weights(tmp_path, 0), weights(tmp_path, 1)
    for key in left:
        assert torch.equal(left[key].cpu(), right[key].cpu()), key


def test_memory_of_a_step_does_not_grow_with_samples():
    head = toy_config()['decode_head']
    head['generator'].update(base_channels=16, norm_cfg=None)
    peaks = []
    for samples, chunk in ((4, None), (20, 4), (20, None)):
        cfg = dict(num_samples=samples, samples_per_chunk=chunk)
        model = toy_model(decode_head=head, train_cfg=cfg).cuda()
        optims = {'generator': toy_optims(model)['generator']}
        model.train_step(toy_batch((128, 128)), optims)
        torch.cuda.reset_peak_memory_stats()
        model.train_step(toy_batch((128, 128)), optims)
        peaks.append(torch.cuda.max_memory_allocated())
    few, chunked, whole = peaks
    assert chunked < 1.5 * few
    assert whole > 2.5 * few
