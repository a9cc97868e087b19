"""What the paper's two experiments cost on GPUs, counted, not run.

Operations are counted by torch's flop counter on its ``meta`` device, for one
image and scaled to the batch; activations are what the backward pass keeps
beside weights; communication is what a rank sends to average gradients in a
ring. Hours assume 40 % of 19.5 TFLOP/s, the float32 peak of one A100 without
TF32; no GPU was there to measure on. The black box has predicted before. R1 is
left out, as the counter cannot follow a gradient of a gradient: it adds about
two steps of D to each of D's, a small part of the whole.
"""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmengine.structures import PixelData
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from mmcar.engine.schedule import Schedule
from mmcar.models.segmentors.training import frozen

ROOT = Path(__file__).resolve().parents[3]
CONFIGS = ROOT / 'configs' / 'car'
sys.path.append(str(ROOT / 'tools' / 'analysis_tools'))

import training_memory  # noqa: E402 (a tool, not of a package)

EXPERIMENTS = {
    'LIDC, M = 20': 'car_lidc.py',
    'Cityscapes24, M = 7': 'car_deeplabv3_cityscapes24.py',
}
CROP = (128, 128)
FLOPS_PER_SECOND = 0.4 * 19.5e12


def build(path: Path) -> tuple[Any, Config]:
    """The model of a config on ``meta``, without weights of others."""
    config = Config.fromfile(path)
    init_default_scope('mmseg')
    black_box = config.model.decode_head.get('black_box')
    if black_box is not None:
        black_box.checkpoint = None
    return MODELS.build(config.model).to('meta'), config


def one_image(model: Any) -> tuple[Tensor, list[SegDataSample]]:
    """An image on ``meta`` with a label and the black box's prediction."""
    sample = SegDataSample(metainfo=dict(img_path='a/0.png', ori_shape=CROP))
    label = torch.zeros(1, *CROP, dtype=torch.long, device='meta')
    sample.gt_sem_seg = PixelData(data=label)
    black_box = model.decode_head.black_box
    if black_box is not None:
        probs = torch.empty(black_box.num_classes, *CROP, device='meta')
        sample.set_field(PixelData(data=probs), 'black_box_probs', PixelData)
    return torch.empty(1, 3, *CROP, device='meta'), [sample]


def count_step(model: Any, names: tuple[str, ...]) -> tuple[float, float]:
    """Operations of a step of some networks, and bytes kept, of an image."""
    batch = model.train_batch(*one_image(model), (0, 0))
    known = (*model.parameters(), *model.buffers())
    most = 0
    losses: dict[str, Tensor] = {}

    def compute(name: str) -> None:
        losses.update(model.losses(name, batch))

    with FlopCounterMode(display=False) as counter:
        networks = model.networks()
        for name in names:
            networks[name].train()
            others = [n for other, n in networks.items() if other != name]
            losses.clear()
            with frozen(others):
                most = max(
                    most,
                    training_memory.saved_bytes(partial(compute, name), known),
                )
                sum(v for k, v in losses.items() if 'loss' in k).backward()
    return float(counter.get_total_flops()), float(most)


def phase_rows(case: str, path: Path) -> list[dict]:
    """Costs of every phase of a config on 1, 4 and 8 GPUs."""
    model, config = build(path)
    schedule = Schedule(config.train_cfg.phases)
    images = config.train_dataloader.batch_size
    rows = []
    for phase in schedule.phases:
        total = kept = weights = sent = 0.0
        always = tuple(n for n in phase.train if n not in phase.cycles)
        rests = phase.num_updates(phase.train[-1], phase.iters)
        for names, iters in (
            (phase.train, rests),
            (always, phase.iters - rests),
        ):
            if iters:
                flops, own = count_step(model, names)
                total += flops * images * iters
                kept = max(kept, own)
        networks = model.networks()
        for name in phase.train:
            size = 4.0 * sum(p.numel() for p in networks[name].parameters())
            weights += 4 * size  # gradients and Adam's two moments
            sent += size * phase.num_updates(name, phase.iters) / phase.iters
        for gpus in (1, 4, 8):
            rows.append(
                dict(
                    case=f'{case}: {" + ".join(phase.train)}',
                    gpus=gpus,
                    iterations=phase.iters,
                    tflop_per_iteration=total / phase.iters / 1e12,
                    hours=total / gpus / FLOPS_PER_SECOND / 3600,
                    activations_gb=kept * images / gpus / 2**30,
                    weights_and_adam_mb=weights / 2**20,
                    sent_mb=2 * (gpus - 1) / gpus * sent / 2**20,
                )
            )
    return rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the subcommand: none."""


def run(args: argparse.Namespace) -> list[dict]:
    """Count; print and return the rows."""
    rows = []
    for case, name in EXPERIMENTS.items():
        rows += phase_rows(case, CONFIGS / name)
    for row in rows:
        print(
            f'  {row["case"]:44}{row["gpus"]:3} GPUs{row["hours"]:8.1f} h'
            f'{row["activations_gb"]:8.1f} GB'
        )
    return rows
