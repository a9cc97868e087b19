"""What a test does beside the networks: metrics of one image.

GED and HM-IoU of 16 samples, calibration and mIoU; the networks' share is
that of `sampling`, where DeepLabV3 alone takes many times as long
at the large size.
"""

import argparse

import torch
from mmseg.registry import METRICS
from mmseg.structures import SegDataSample
from torch import Tensor

import mmcar  # noqa: F401 (registers everything)
from mmcar.models import GumbelSampler, RefinementUNet, SegNetCalibration
from mmcar.sampling.kernels import class_argmax, class_counts

from .sampling import SAMPLES, inputs
from .timing import processor_seconds

METRIC_TYPES = (
    'GEDMetric',
    'HMIoUMetric',
    'CalibrationMetric',
    'FiniteIoUMetric',
)


def predicted(log_probs: Tensor) -> dict:
    """An image with 16 samples and a label, as metrics see it."""
    classes = log_probs.shape[1]
    sampler = GumbelSampler(classes)
    z = torch.randn(SAMPLES, 1, sampler.noise_size)
    maps = sampler.sample_labels(log_probs, z)[:, 0]
    fields = dict(
        pred_samples=maps,
        sample_probs=class_counts(maps, classes) / len(maps),
        seg_logits=log_probs[0],
        pred_sem_seg=class_argmax(log_probs).long(),
        gt_sem_seg=maps[:1].long(),
    )
    meta = SegDataSample(metainfo=dict(img_path='0.png')).to_dict()
    return {**meta, **{key: dict(data=data) for key, data in fields.items()}}


def metric_rows(case: str, log_probs: Tensor, repeats: int) -> list[dict]:
    """Median seconds of every metric on fresh predictions."""
    classes = [str(k) for k in range(log_probs.shape[1])]
    seconds: dict[str, list[float]] = {name: [] for name in METRIC_TYPES}
    for _ in range(repeats):
        sample = predicted(log_probs)
        for name in METRIC_TYPES:
            metric = METRICS.build(dict(type=name))
            metric.dataset_meta = dict(classes=classes)
            seconds[name].append(
                processor_seconds(
                    lambda m=metric, s=sample: m.process({}, [s])
                )
            )
    medians = {k: sorted(v)[len(v) // 2] for k, v in seconds.items()}
    medians['all'] = sum(medians.values())
    return [dict(case=case, part=k, seconds=v) for k, v in medians.items()]


@torch.no_grad()
def network_row(case: str, log_probs: Tensor) -> dict:
    """Seconds of the paper's networks on the same image."""
    image = torch.randn(1, 3, *log_probs.shape[-2:])
    f = SegNetCalibration(num_classes=2).eval()
    g = RefinementUNet(2).eval()
    z = torch.randn(SAMPLES, 1, g.noise_size)

    def call() -> None:
        features = g.encode(image, f(image).log_softmax(1))
        for one in z.split(1):
            g.sample(features, one)

    call()
    return dict(
        case=case,
        part='F and G, for comparison',
        seconds=processor_seconds(call),
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the subcommand."""
    parser.add_argument('--repeats', type=int, default=3)
    parser.add_argument(
        '--shrink', type=int, default=1, help='divide image sides by this'
    )


def run(args: argparse.Namespace) -> list[dict]:
    """Measure; print and return the rows."""
    small = 128 // args.shrink, 128 // args.shrink
    large = 1024 // args.shrink, 2048 // args.shrink
    case = f'LIDC {small[0]}x{small[1]}, 2 classes'
    _, log_probs = inputs(2, small)
    rows = metric_rows(case, log_probs, args.repeats)
    rows.append(network_row(case, log_probs))
    _, log_probs = inputs(19, large)
    case = f'{large[0]}x{large[1]}, 19 classes'
    rows += metric_rows(case, log_probs, args.repeats)
    for row in rows:
        print(f'  {row["case"]:30}{row["part"]:26}{row["seconds"]:9.4f} s')
    return rows
