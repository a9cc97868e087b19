"""All figures of a tested data set: of each image, and of all together."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from mmseg.registry import METRICS

from ..structures import ClassFlips
from .functional import Bounds, best_match_iou, class_area_sums
from .metrics.base import image_name, labels_of, observations_of
from .metrics.calibration import CalibrationMetric
from .metrics.names import metric_configs
from .metrics.samples import GEDMetric

#: What can be calibrated, and how `CalibrationMetric` marks it.
SOURCES = {'probabilities': '', 'samples': '_samples'}
# A report scores all samples that it shows, and writes its own table.
OWN_SETTINGS = ('num_samples', 'csv_file')


class DatasetScores:
    """Scores images one after the other, with the scores of ``test.py``.

    Args:
        metainfo: Of the data set: ``classes``, maybe ``class_flips``.
        num_samples: Samples of each image, all of which are scored.
        configured: Metrics of a config, whose settings stay.
        bounds: Also score samplers that know the labels.
        seed: Of those samplers.
    """

    def __init__(
        self,
        metainfo: Mapping[str, Any],
        num_samples: int,
        configured: Sequence[Mapping] = (),
        bounds: bool = True,
        seed: int = 0,
    ) -> None:
        self.metainfo = dict(metainfo)
        self.classes = metainfo['classes']
        self.num_samples = num_samples
        self.flips = ClassFlips.parse(
            metainfo.get('class_flips'), len(self.classes)
        )
        names = ['GED', 'flips' if self.flips else 'HM-IoU', 'ECE']
        settings = [
            {k: v for k, v in metric.items() if k not in OWN_SETTINGS}
            for metric in configured
        ]
        self.metrics = {
            config['type']: METRICS.build(config)
            for config in metric_configs(names, num_samples, settings)
        }
        for metric in self.metrics.values():
            metric.dataset_meta = self.metainfo
        self.ged: GEDMetric = self.metrics['GEDMetric']
        self.calibration: CalibrationMetric = self.metrics['CalibrationMetric']
        self.samplers = None
        if bounds:
            how = vars(self.ged.how)
            self.samplers = Bounds(num_samples, self.flips, seed, **how)
        self.areas = torch.zeros(len(SOURCES), 2, len(self.classes)).double()

    def add(self, data_sample: dict) -> dict[str, Any]:
        """Score one predicted image.

        Args:
            data_sample: With predictions and labels, in its dict form.

        Returns:
            Its figures by name, NaN where it has none; ``bins`` are those of
            `CalibrationBins`, by `SOURCES`.
        """
        for metric in self.metrics.values():
            metric.process({}, [data_sample])
        if self.samplers is not None:
            self.samplers.add(labels_of(data_sample))
        self._add_areas(data_sample)
        labels, n = labels_of(data_sample), self.num_samples
        terms = self.ged.terms(data_sample, n)
        calibrated = self.calibration.results[-1]
        figures: dict[str, Any] = dict(
            image=image_name(data_sample), GED=terms.ged.item()
        )
        if not self.flips:
            matched = self.metrics['HMIoUMetric'].results[-1]
            decision = data_sample['pred_sem_seg']['data']
            ious = best_match_iou(decision, labels, **vars(self.ged.how))
            figures['HM-IoU'] = matched[f'HM-IoU_{n}']
            figures['decision_IoU'] = ious.nanmean().item()
        return figures | dict(
            disagreement=terms.labels.item(),
            diversity=terms.samples.item(),
            ECE=self.calibration.bins_of([calibrated]).ece.item(),
            annotators=len(labels),
            bins={
                k: calibrated[f'bins{m}'].tolist() for k, m in SOURCES.items()
            },
        )

    def _add_areas(self, data_sample: dict) -> None:
        labels, weights = observations_of(data_sample)
        probs = (
            data_sample['seg_logits']['data'].softmax(0),
            data_sample['sample_probs']['data'],
        )
        how = dict(ignore_index=self.calibration.ignore_index)
        for area, p in zip(self.areas, probs, strict=True):
            area += class_area_sums(p, labels, weights=weights, **how)

    def summary(self) -> dict[str, Any]:
        """Figures of all images together.

        Returns:
            ``scores`` as ``tools/test.py`` names them, ``bounds`` by sampler,
            ``reliability`` by source, ``classes`` and ``flips``.
        """
        scores: dict[str, float] = {}
        for metric in self.metrics.values():
            scores |= metric.compute_metrics(metric.results)
        reliability = {}
        for name, mark in SOURCES.items():
            bins = self.calibration.bins_of(self.calibration.results, mark)
            reliability[name] = dict(
                count=bins.count.tolist(),
                confidence=bins.confidence.tolist(),
                accuracy=bins.accuracy.tolist(),
                ECE=bins.ece.item(),
            )
        return dict(
            scores=scores,
            bounds={} if self.samplers is None else self.samplers.scores(),
            reliability=reliability,
            classes=self._class_areas(),
            flips=self._flip_probabilities(),
        )

    def _class_areas(self) -> list[dict[str, Any]]:
        """Expected and labelled share of all labelled pixels, per class."""
        shares = self.areas / self.areas[:, 1].sum(1)[:, None, None]
        rows = []
        for k, name in enumerate(self.classes):
            labelled = shares[0, 1, k]
            row = dict(name=name, labelled=labelled.item())
            for source, share in zip(SOURCES, shares[:, 0, k], strict=True):
                excess = share / labelled - 1 if labelled else labelled / 0
                row[source] = share.item()
                row[f'{source}_excess'] = excess.item()
            rows.append(row)
        return rows

    def _flip_probabilities(self) -> list[dict[str, Any]]:
        """Probability of each twin where the label has its class."""
        if not self.flips:
            return []
        found = {}
        for name, mark in SOURCES.items():
            results = self.calibration.results
            sums = sum(result[f'offsets{mark}'] for result in results)
            found[name] = (sums[:, 0] / sums[:, 1]).tolist()
        return [
            dict(
                name=self.classes[flip.source],
                twin=self.classes[flip.twin],
                true=flip.probability,
                **{source: values[i] for source, values in found.items()},
            )
            for i, flip in enumerate(self.flips)
        ]
