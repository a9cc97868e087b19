"""Whole training runs of a toy model, in this process or in another."""

import os
import shutil
import signal
from pathlib import Path

import numpy as np
import torch
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.logging import MMLogger
from mmengine.runner import Runner
from mmengine.structures import PixelData
from mmengine.utils import import_modules_from_strings
from mmseg.registry import DATASETS, HOOKS
from mmseg.structures import SegDataSample
from torch.utils.data import Dataset

from tests.forking import Forked
from tests.toys import toy_config

#: A change of phase and a full cycle of D within 40 iterations.
PHASES = [
    dict(iters=16, train=['calibration']),
    dict(
        iters=24,
        train=['generator', 'discriminator'],
        cycles=dict(discriminator=[3, 4]),
    ),
]
ADAM = dict(type='Adam', lr=1e-2, betas=(0.5, 0.99))
STEPS = dict(type='MultiStepLR', begin='phase', milestones=[5, 10], gamma=0.5)
CHECKPOINT = dict(
    type='SafeCheckpointHook', by_epoch=False, interval=10, max_keep_ckpts=2
)


@DATASETS.register_module()
class RandomMaps(Dataset):
    """Images that random augmentation changes at every visit.

    Args:
        size: Number of images.
        visits: File to which each visit adds the image's index.
    """

    METAINFO = dict(classes=('a', 'b'), palette=[[0, 0, 0], [255, 255, 255]])

    def __init__(self, size=10, visits=None):
        self.size = size
        self.visits = visits
        self.metainfo = self.METAINFO

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if self.visits:
            with open(self.visits, 'a') as file:
                file.write(f'{index}\n')
        fixed = np.random.RandomState(index)
        image = fixed.randint(0, 200, (3, 16, 16))
        label = (image.sum(0) > 300).astype(np.int64)
        if np.random.rand() < 0.5:
            image, label = image[..., ::-1], label[..., ::-1]
        image = image + np.random.randint(0, 50, image.shape)
        sample = SegDataSample(
            metainfo=dict(
                img_path=f'toy/{index}.png',
                ori_shape=(16, 16),
                img_shape=(16, 16),
            )
        )
        sample.gt_sem_seg = PixelData(
            data=torch.from_numpy(label.copy())[None]
        )
        return dict(
            inputs=torch.from_numpy(image.copy()).byte(), data_samples=sample
        )


@HOOKS.register_module()
class KillHook(Hook):
    """Ends the process after an iteration as a power cut would."""

    priority = 'LOWEST'

    def __init__(self, after):
        self.after = after

    def after_train_iter(self, runner, batch_idx, **kwargs):
        if batch_idx + 1 == self.after:
            os.kill(os.getpid(), signal.SIGKILL)


@HOOKS.register_module()
class PoisonHook(Hook):
    """Makes F's loss NaN at one iteration, on one rank only."""

    def __init__(self, at, rank=0):
        self.at, self.rank = at, rank

    def _weight(self, runner, batch_idx, weight):
        if (batch_idx, runner.rank) == (self.at, self.rank):
            model = getattr(runner.model, 'module', runner.model)
            model.loss_pixels[0].loss_weight = weight

    def before_train_iter(self, runner, batch_idx, data_batch=None):
        self._weight(runner, batch_idx, float('nan'))

    def after_train_iter(self, runner, batch_idx, **kwargs):
        self._weight(runner, batch_idx, 1.0)


@HOOKS.register_module()
class RecordHook(Hook):
    """Keeps what was logged and which networks changed, per iteration."""

    def __init__(self):
        self.logs, self.changed, self.lrs, self.states = [], [], [], []

    def before_train_iter(self, runner, batch_idx, data_batch=None):
        self.before = self._state(runner)

    def after_train_iter(self, runner, batch_idx, outputs, **kwargs):
        after = self._state(runner)
        self.states.append(after)
        optims = runner.optim_wrapper.items()
        self.lrs.append({k: o.param_groups[0]['lr'] for k, o in optims})
        self.logs.append({k: float(v) for k, v in outputs.items()})
        self.changed.append(
            {k for k in after if not torch.equal(after[k], self.before[k])}
        )

    def _state(self, runner):
        model = getattr(runner.model, 'module', runner.model)
        return {
            name: torch.cat([p.detach().flatten() for p in net.parameters()])
            for name, net in model.networks().items()
        }


def phased(*phases, **loop):
    """A train_cfg of some phases."""
    return dict(type='AlternatingTrainLoop', phases=list(phases), **loop)


def scored(evaluator, *splits, **data):
    """Loops that score :class:`RandomMaps`, ``val``, ``test`` or both."""
    loader = dict(
        batch_size=2,
        num_workers=0,
        sampler=dict(type='DefaultSampler', shuffle=False),
        dataset=dict(type='RandomMaps', **data),
    )
    cfg = {}
    for split in splits:
        cfg[f'{split}_dataloader'] = loader
        cfg[f'{split}_evaluator'] = evaluator
        cfg[f'{split}_cfg'] = dict(type=f'{split.capitalize()}Loop')
    return cfg


def keep_checkpoint(source, number, target):
    """Copy the checkpoint of an iteration into a new folder."""
    target.mkdir(exist_ok=True)
    shutil.copy(source / f'iter_{number}.pth', target)


def only(*names, **optim):
    """An optim_wrapper for some of the networks."""
    wrapper = dict(constructor='NetworkOptimWrapperConstructor')
    return wrapper | {name: dict(optimizer=ADAM) | optim for name in names}


def norm_free():
    """Parts whose output does not depend on the rest of the batch."""
    head = toy_config()['decode_head']
    head['calibration'].update(norm_cfg=None, dropout=0.0)
    head['generator'].update(norm_cfg=None, dropout=0.0)
    return dict(decode_head=head)


def run_config(work_dir, **changes):
    cfg = dict(
        default_scope='mmseg',
        work_dir=str(work_dir),
        model=toy_config(),
        train_dataloader=dict(
            batch_size=2,
            num_workers=0,
            sampler=dict(type='InfiniteSampler', shuffle=True),
            dataset=dict(type='RandomMaps'),
        ),
        train_cfg=phased(*PHASES),
        optim_wrapper=only('calibration', 'generator', 'discriminator'),
        param_scheduler=dict(generator=[STEPS]),
        default_hooks=dict(
            logger=dict(type='LoggerHook', interval=10), checkpoint=CHECKPOINT
        ),
        custom_hooks=[dict(type='R1Hook', weight=1.0, interval=2)],
        randomness=dict(seed=7),
        log_level='ERROR',
        experiment_name=Path(work_dir).name,
    )
    cfg.update(changes)
    return cfg


class PlainConfig(Config):
    """Written without a formatter, which takes half of a short run."""

    @property
    def pretty_text(self):
        return f'cfg = {self.to_dict()!r}'


def build_runner(work_dir, **changes):
    # Runs of one process must not share their logger or message hub.
    MMLogger._instance_dict.clear()
    import_modules_from_strings(
        **changes.get('custom_imports', dict(imports=[]))
    )
    return Runner.from_cfg(PlainConfig(run_config(work_dir, **changes)))


def train(work_dir, **changes):
    """Train; the weights also go to ``work_dir/final_RANK.pt``."""
    runner = build_runner(work_dir, **changes)
    runner.train()
    model = getattr(runner.model, 'module', runner.model)
    torch.save(
        {k: v.clone() for k, v in model.state_dict().items()},
        Path(work_dir) / f'final_{runner.rank}.pt',
    )
    return runner


def start(*arguments, **env):
    """Start :func:`train`, once or several times, in another process."""
    return Forked(train_all, *arguments, **env)


def train_all(*arguments):
    """Train in this process, which others may join."""
    torch.set_num_threads(1)
    if 'FLOAT64' in os.environ:
        compute_in_float64()
    if 'RANK' in os.environ:
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ['LOCAL_RANK']))
        torch.distributed.init_process_group(os.environ.get('BACKEND', 'gloo'))
    for given in arguments:
        train(**given)


def finish(process, code=0):
    """Wait for a process and check its exit code."""
    done = process.finish()
    output = done.stdout + done.stderr
    assert done.returncode == code, output[-3000:]
    return output


def recorded(runner):
    """The run's :class:`RecordHook`."""
    return next(hook for hook in runner.hooks if isinstance(hook, RecordHook))


def weights(work_dir, rank=0):
    return torch.load(Path(work_dir) / f'final_{rank}.pt')


def compute_in_float64():
    """Have this process compute in 64 bits: rounding is then no excuse."""
    from mmcar.models import StochasticSegmentor

    draw = StochasticSegmentor.draw_noise
    torch.set_default_dtype(torch.float64)
    torch.Tensor.float = torch.Tensor.double
    StochasticSegmentor.draw_noise = lambda *args: draw(*args).double()
