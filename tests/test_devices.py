"""Every config trains and predicts on a device that is not the CPU.

torch's ``meta`` device has no data: a tensor made on the CPU by mistake meets
one on ``meta`` and fails at once, and each look at a value, which would make
a GPU wait, is caught and counted.
"""

import sys
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.logging import MessageHub
from mmengine.optim import build_optim_wrapper
from mmseg.registry import DATASETS
from torch.overrides import TorchFunctionMode

from mmcar.engine import Schedule
from mmcar.models import StochasticSegmentor
from tests.test_configs import CONFIGS, build_model, tiny_batch
from tests.test_tools.project import ROOT

# Modules of ours that may look at values in a step.
LOOKERS = {'training.py'}
# These need values by nature: an assignment is solved on the CPU, a noise
# vector seeds a generator or chooses a model, regions are found by OpenCV,
# what floods decides whether to draw again.
COPIES = {
    *('soft_iou.py', 'samplers.py', 'mc_dropout.py', 'mixture.py'),
    *('stochastic_segmentor.py', 'field_samplers.py'),
}
LOOKS = {'__bool__', 'item', 'tolist', '__int__', '__float__', '__index__'}


class CountLooks(TorchFunctionMode):
    """Counts looks at values of tensors on ``meta``, by module of ours."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def _site(self):
        frame = sys._getframe(2)
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if 'site-packages' in path.parts and 'mmseg' in path.parts:
                return 'stock'
            if 'mmcar' in path.parts and 'tests' not in path.parts:
                return path.name
            frame = frame.f_back
        return 'elsewhere'

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, '__name__', '')
        on_meta = (
            args
            and isinstance(args[0], torch.Tensor)
            and args[0].device.type == 'meta'
        )
        if on_meta and name in LOOKS:
            site = self._site()
            if site == 'stock':  # an assertion inside of MMSeg
                return True
            self.seen.append(site)
            assert site in LOOKERS, f'{name} of a tensor in {site}'
            ones = torch.ones(args[0].shape)
            return getattr(ones, name)()
        if on_meta and name == 'cpu':
            site = self._site()
            assert site in COPIES, f'a copy to the CPU in {site}'
            return torch.zeros(args[0].shape, dtype=args[0].dtype)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize('path', CONFIGS)
def test_runs_on_another_device(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    cfg = Config.fromfile(path)
    model = build_model(cfg)
    if not isinstance(model, StochasticSegmentor):
        pytest.skip('a stock model of MMSeg')
    model = model.to('meta')
    hub = MessageHub.get_instance('looks')
    dataset = dict(cfg.test_dataloader.dataset, lazy_init=True)
    flips = DATASETS.build(dataset).metainfo.get('class_flips', ())
    if cfg.get('train_cfg') and 'phases' in cfg.train_cfg:
        optims = build_optim_wrapper(model, cfg.optim_wrapper)
        for wrapper in optims.values():  # no device without memory has them
            wrapper.optimizer.param_groups[0]['fused'] = None
        for phase in Schedule(cfg.train_cfg.phases).phases:
            active = {name: optims[name] for name in phase.train}
            with CountLooks() as looks:
                log = model.train_step(tiny_batch(model, flips), active)
                for key, value in log.items():  # as MMEngine's hook does
                    hub.update_scalar(f'train/{key}', value)
            # Losses and whether they are finite, once per network.
            assert looks.seen == ['training.py'] * len(phase.train)
    with CountLooks() as looks:
        samples = model.eval().test_step(tiny_batch(model, flips))
    assert looks.seen == []
    assert samples[0].pred_samples.data.device.type == 'meta'
