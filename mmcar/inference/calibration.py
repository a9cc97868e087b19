"""Post-hoc calibration: fit a scaling on some images, report on others."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from mmengine.dataset import BaseDataset, pseudo_collate
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Subset

from ..evaluation import CalibrationMetric
from ..evaluation.metrics.base import labels_of
from ..models import CARSegmentor
from ..structures import label_distribution, sample_key, to_input, to_original
from ..utils.errors import UserError
from ..utils.progress import track
from ..utils.scaling import rescale
from .scaling_fit import Fit, Pixels, draw_pixels, fit_scaling

SCORES = ('ECE', 'NLL', 'Brier')


def units_of(dataset: Dataset) -> tuple[str, list[str]]:
    """Whether patients are known, and the patient or the key of each image."""
    records = [dataset.get_data_info(i) for i in range(len(dataset))]
    units = [record.get('patient') or sample_key(record) for record in records]
    known = any(record.get('patient') for record in records)
    return 'patient' if known else 'image', units


def split_halves(units: Sequence[str]) -> tuple[list[int], list[int]]:
    """Split images in two by a hash of their units.

    Args:
        units: Patient or key of each image: all images of a patient are in
            the same half.

    Returns:
        Indices of the images to fit on and of those to report on, the same
        on every machine and for every order of the images.
    """
    groups: dict[str, list[int]] = {}
    for i, unit in enumerate(units):
        groups.setdefault(unit, []).append(i)
    if len(groups) < 2:
        raise UserError(
            f'{len(units)} validation images: calibration needs at least 2, '
            'not all of one patient, to fit on one half and to report on the '
            'other.'
        )
    order = sorted(
        groups, key=lambda g: (hashlib.sha256(g.encode()).hexdigest(), g)
    )
    counts = np.cumsum([len(groups[group]) for group in order])[:-1]
    cut = int(np.abs(counts - len(units) // 2).argmin()) + 1
    first, second = (
        sorted(i for group in part for i in groups[group])
        for part in (order[:cut], order[cut:])
    )
    return first, second


def halves_of(dataset: Dataset) -> tuple[Subset, Subset]:
    """The two halves of a data set, see `split_halves`."""
    fit, report = split_halves(units_of(dataset)[1])
    return Subset(dataset, fit), Subset(dataset, report)


@torch.no_grad()
def predict(
    model: CARSegmentor, images: Subset, title: str, num_workers: int
) -> Iterator[tuple[SegDataSample, Tensor]]:
    """F's log-probabilities (1, K, H, W) of image after image.

    Args:
        model: With F.
        images: Images with labels.
        title: Of the bar that shows how far it is.
        num_workers: Processes that load images.
    """
    model.eval()
    loader = DataLoader(
        images, num_workers=num_workers, collate_fn=pseudo_collate
    )
    for batch in track(loader, title):
        data = model.data_preprocessor(batch, False)
        (sample,) = data['data_samples']
        sample.gt_sem_segs = PixelData(data=labels_of(sample.to_dict()))
        log_probs = model.decode_head.calibrate(
            data['inputs'],
            data['data_samples'],
            window=model.window_for(data['inputs']),
        )
        yield sample, log_probs


def collect_pixels(
    model: CARSegmentor, images: Subset, number: int, num_workers: int
) -> Pixels:
    """Pixels of all images, to fit a scaling on.

    Args:
        model: Its fitted scaling must have been cleared.
        images: Images with labels.
        number: Pixels of all images together, which bounds memory.
        num_workers: Processes that load images.
    """
    each, parts = max(1, number // len(images)), []
    for sample, log_probs in predict(model, images, 'fit', num_workers):
        if not log_probs.isfinite().all():
            raise UserError(
                f'{sample.get("img_path")}: the model predicts NaN or '
                'infinite values, which cannot be scaled.'
            )
        num_classes, height, width = log_probs.shape[1:]
        known = label_distribution(sample, num_classes, model.ignore_index)
        # The labels of a test image have its original size.
        maps = to_input(
            torch.cat((known[0], known[1][None].to(known[0]))),
            sample.metainfo,
            (height, width),
            fill=0.0,
        )
        parts.append(
            draw_pixels(
                log_probs[0], maps[:-1], maps[-1], each, sample_key(sample)
            )
        )
    return Pixels.joined(parts)


class Report:
    """Scores of the same images before and after scaling.

    Args:
        model: Says how to resize and which pixels to ignore.
        metainfo: That of the data set.
    """

    def __init__(self, model: CARSegmentor, metainfo: Mapping) -> None:
        self.model = model
        self.metrics = [
            CalibrationMetric(ignore_index=model.ignore_index)
            for _ in range(2)
        ]
        for metric in self.metrics:
            metric.dataset_meta = dict(metainfo)
        self.changed = self.labelled = 0

    def add(self, sample: SegDataSample, *pair: Tensor) -> None:
        """Add an image by its log-probabilities (1, K, H, W), two times."""
        decisions = []
        for metric, log_probs in zip(self.metrics, pair, strict=True):
            probs = to_original(
                log_probs.exp(), sample.metainfo, self.model.align_corners
            )[0]
            tiny = torch.finfo(probs.dtype).tiny
            logits = dict(data=probs.clamp_min(tiny).log())
            metric.process(None, [{**sample.to_dict(), 'seg_logits': logits}])
            decisions.append(probs.argmax(0))
        labels = sample.gt_sem_segs.data
        known = (labels != self.model.ignore_index).any(0)
        differ = decisions[0] != decisions[1]
        self.changed += int((differ & known).sum())
        self.labelled += int(known.sum())

    def scores(self) -> dict[str, dict[str, float]]:
        """Scores by name, ``before`` and ``after``, and changed decisions."""
        before, after = (m.compute_metrics(m.results) for m in self.metrics)
        table = {
            name: dict(before=before[name], after=after[name])
            for name in SCORES
        }
        share = self.changed / max(self.labelled, 1)
        return {**table, 'changed': dict(before=0.0, after=share)}


def calibrate(
    model: CARSegmentor,
    dataset: BaseDataset,
    method: str,
    num_pixels: int = 200_000,
    ridge: float = 1e-6,
    num_workers: int = 0,
) -> tuple[Fit, dict[str, dict[str, float]]]:
    """Fit a scaling on half of the images, report on the other half.

    Args:
        model: Gets the scaling; what it had been given before is forgotten.
        dataset: Images with labels.
        method: One of `METHODS`.
        num_pixels: Pixels to fit on, all images together.
        ridge: See `fit_scaling`.
        num_workers: Processes that load images.

    Returns:
        The fit, and scores of the other half by name, before and after.
    """
    scaling = model.decode_head.scaling
    scaling.clear()
    fit_half, report_half = halves_of(dataset)
    pixels = collect_pixels(model, fit_half, num_pixels, num_workers)
    fit = fit_scaling(pixels, method, ridge)
    report = Report(model, dataset.metainfo)
    for sample, log_probs in predict(
        model, report_half, 'report', num_workers
    ):
        params = (p.to(log_probs) for p in (fit.weight, fit.bias))
        report.add(sample, log_probs, rescale(log_probs, method, *params))
    scaling.set_fitted(method, fit.weight, fit.bias)
    return fit, report.scores()
