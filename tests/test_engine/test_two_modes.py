"""Does training honour the calibration target?

Each image shows two squares; its label marks the left one in 70 % of all
cases, else the right one. A calibrated sampler marks one square per sample,
as often as the labels do.
"""

import numpy as np
import pytest
import torch
from mmengine.structures import PixelData
from mmseg.registry import DATASETS
from mmseg.structures import SegDataSample
from torch.utils.data import Dataset

from tests.test_engine.runs import only, phased, train
from tests.toys import toy_config

SIZE = 16
LEFT = (slice(4, 12), slice(1, 7))
RIGHT = (slice(4, 12), slice(9, 15))
SHARE = 0.7


@DATASETS.register_module()
class TwoSquares(Dataset):
    """Noisy pictures of two squares with a random label."""

    metainfo = dict(classes=('ground', 'square'))

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        image = np.random.randint(0, 60, (3, SIZE, SIZE))
        image[0][LEFT] += 190
        image[1][RIGHT] += 190
        label = torch.zeros(1, SIZE, SIZE, dtype=torch.long)
        label[0][LEFT if np.random.rand() < SHARE else RIGHT] = 1
        shape = (SIZE, SIZE)
        sample = SegDataSample(
            metainfo=dict(
                img_path=f'squares/{index}', ori_shape=shape, img_shape=shape
            )
        )
        sample.gt_sem_seg = PixelData(data=label)
        return dict(inputs=torch.from_numpy(image).byte(), data_samples=sample)


def stage(work_dir, phases, batch_size, model=None, load_from=None):
    """Train in the given phases, the last third with falling rates."""
    iters = sum(phase['iters'] for phase in phases)
    head = toy_config()['decode_head']
    head['calibration'].update(channels=8, num_blocks=3, dropout=0.0)
    head['generator'].update(
        noise_size=4,
        base_channels=8,
        norm_cfg=None,
        dropout=0.0,
        film='residual',
    )
    cfg = toy_config(
        decode_head=head,
        discriminator=dict(type='DCGANDiscriminator', base_channels=8),
        **(model or {}),
    )
    rates = dict(calibration=1e-2, generator=2e-3, discriminator=5e-4)
    adam = dict(type='Adam', betas=(0.5, 0.99))
    runner = train(
        work_dir,
        model=cfg,
        train_dataloader=dict(
            batch_size=batch_size,
            num_workers=0,
            sampler=dict(type='InfiniteSampler', shuffle=True),
            dataset=dict(type='TwoSquares'),
        ),
        train_cfg=phased(*phases),
        optim_wrapper=only()
        | {k: dict(optimizer=adam | dict(lr=r)) for k, r in rates.items()},
        param_scheduler=dict(
            type='MultiStepLR',
            begin='phase',
            milestones=[2 * iters // 3, 5 * iters // 6],
            gamma=0.2,
        ),
        custom_hooks=[dict(type='R1Hook', weight=1.0)],
        load_from=load_from,
    )
    return runner.model


@pytest.fixture(scope='module')
def calibrated(tmp_path_factory):
    """Checkpoint of a model whose F has been trained."""
    work_dir = tmp_path_factory.mktemp('calibrated')
    phases = [
        dict(iters=150, train=['calibration']),
        dict(iters=0, train=['generator', 'discriminator']),
    ]
    stage(work_dir, phases, batch_size=32)
    return str(work_dir / 'iter_150.pth')


@torch.no_grad()
def shares(model, draws=400):
    """Share of samples nearer to the left mode, and of pure samples."""
    model.eval()
    np.random.seed(0)
    batch = [TwoSquares()[i] for i in range(4)]
    data = model.data_preprocessor(
        dict(
            inputs=[b['inputs'] for b in batch],
            data_samples=[b['data_samples'] for b in batch],
        )
    )
    torch.manual_seed(0)
    z = torch.randn(draws, 4, model.decode_head.generator.noise_size)
    probs = model.sample(model.encode(data['inputs']), z)
    maps = probs.argmax(dim=2).float()  # (S, B, H, W)
    left = maps[(..., *LEFT)].mean((-2, -1))
    right = maps[(..., *RIGHT)].mean((-2, -1))
    pure = (left > 0.5) != (right > 0.5)
    return (left > right).float().mean().item(), pure.float().mean().item()


def test_frequencies_are_recovered(tmp_path, calibrated):
    phases = [
        dict(iters=0, train=['calibration']),
        dict(iters=450, train=['generator', 'discriminator']),
    ]
    losses = dict(
        loss_adv=dict(type='AdversarialLoss', loss_weight=3.0),
        loss_samples=dict(type='CalibrationLoss'),
        train_cfg=dict(num_samples=10),
    )
    share, pure = shares(stage(tmp_path, phases, 8, losses, calibrated))
    assert abs(share - SHARE) < 0.05
    assert pure > 0.9
