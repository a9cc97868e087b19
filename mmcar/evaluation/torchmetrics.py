"""GED, HM-IoU and calibration as classes of TorchMetrics.

They need the package torchmetrics (``pip install mmcar[torchmetrics]``), but
not MMSegmentation. Several processes score as one does.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..utils.errors import needing
from .functional import CalibrationBins, Comparison, ged, hm_iou
from .functional.inputs import Maps

with needing('torchmetrics'):
    from torchmetrics import Metric


class _MeanOfImages(Metric):
    """The mean of a score over the images that have one.

    Args:
        num_classes: See `Comparison`, as all that follows.
        classes: Likewise.
        absent: Likewise.
        ignore_index: Likewise.
        num_samples: S, to make sure that axes are in order.
        kwargs: Arguments of `torchmetrics.Metric`.
    """

    is_differentiable = False
    full_state_update = False
    total: Tensor
    images: Tensor
    _score: Callable[..., Tensor]

    def __init__(
        self,
        num_classes: int,
        classes: tuple[int, ...] | None = None,
        absent: str | None = None,
        ignore_index: int = 255,
        num_samples: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.how = Comparison(num_classes, classes, absent, ignore_index)
        self.num_samples = num_samples
        for name in ('total', 'images'):
            zero = torch.zeros((), dtype=torch.float64)
            self.add_state(name, zero, 'sum')

    def update(
        self, samples: Maps, labels: Maps, sample_weights: Maps | None = None
    ) -> None:
        """Add images.

        Args:
            samples: Integer label maps, shape (N, S, H, W) or (S, H, W).
            labels: Integer label maps, shape (N, A, H, W) or (A, H, W).
            sample_weights: What each sample counts, (N, S) or (S,).
        """
        scores = self._score(
            samples,
            labels,
            sample_weights=sample_weights,
            num_samples=self.num_samples,
            **vars(self.how),
        )
        self.total += scores.nansum().to(self.total)
        self.images += (~scores.isnan()).sum().to(self.images)

    def compute(self) -> Tensor:
        """The mean, NaN without images."""
        return self.total / self.images


class GED(_MeanOfImages):
    """Generalized energy distance, see `mmcar.ged`.

    Example:
        >>> import torch
        >>> from mmcar.evaluation.torchmetrics import GED
        >>> labels = torch.tensor([[[[0, 0, 1, 1]], [[0, 1, 1, 1]]]])
        >>> metric = GED(num_classes=2)
        >>> metric.update(labels[:, :1], labels)
        >>> metric.compute().item()
        0.1666...
    """

    higher_is_better = False
    _score = staticmethod(ged)


class HMIoU(_MeanOfImages):
    """Hungarian-matched IoU, see `mmcar.hm_iou`."""

    higher_is_better = True
    _score = staticmethod(hm_iou)


class Calibration(Metric):
    """ECE, MCE, Brier score and NLL, see `mmcar.calibration`.

    Args:
        num_bins: Number of bins of the confidence.
        ignore_index: Label id that is no observation.
        kwargs: Arguments of `torchmetrics.Metric`.
    """

    is_differentiable = False
    full_state_update = False
    sums: Tensor
    scores: Tensor

    def __init__(
        self, num_bins: int = 10, ignore_index: int = 255, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        bins = CalibrationBins(num_bins, ignore_index)
        self.settings = (num_bins, ignore_index)
        self.add_state('sums', bins.sums, 'sum')
        self.add_state('scores', bins.scores, 'sum')

    def update(self, probs: Maps, labels: Maps) -> None:
        """Add images: ([N,] K, H, W) and labels ([N,] A, H, W)."""
        bins = CalibrationBins(*self.settings)
        bins.update(probs, labels)
        self.sums += bins.sums.to(self.sums)
        self.scores += bins.scores.to(self.scores)

    def compute(self) -> dict[str, Tensor]:
        """The scores by name."""
        bins = CalibrationBins(*self.settings)
        bins.sums, bins.scores = self.sums, self.scores
        return bins.figures()
