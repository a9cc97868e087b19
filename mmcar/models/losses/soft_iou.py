"""GED and HM-IoU of G's samples with soft IoU, to be minimised."""

from collections.abc import Sequence
from typing import Any

import torch
from mmseg.registry import MODELS
from torch import Tensor

from ...utils.checks import at_least, not_negative, one_of
from ...utils.matching import match_repeated
from .base import BaseLoss, SampleBatch, masked_mean


def _pair_distance(inter: Tensor, total: Tensor, smooth: float) -> Tensor:
    """Jaccard distance, averaged over the last dimension (classes).

    Args:
        inter: Sum of minima of each pair, (..., C).
        total: Sum of both maps of each pair, (..., C).
        smooth: Weight of an imaginary pixel that is on in every map.
    """
    union = total - inter
    # An empty union needs no special case unless smooth is 0.
    tiny = torch.finfo(inter.dtype).tiny
    return (1 - (inter + smooth + tiny) / (union + smooth + tiny)).mean(-1)


def sample_label_distance(
    samples: Tensor, onehot: Tensor, valid: Tensor, smooth: float = 0.0
) -> Tensor:
    """Soft Jaccard distance of every sample to every label.

    Args:
        samples: (M, B, C, P) in [0, 1].
        onehot: (B, A, C, P), zero or one.
        valid: (B, A, P), zero where a label ignores the pixel.
        smooth: See `_pair_distance`.

    Returns:
        (B, M, A).
    """
    onehot = onehot * valid.unsqueeze(2)
    # A label is zero or one, so the minimum is the product.
    inter = torch.einsum('mbcp,bacp->bmac', samples, onehot)
    mass = torch.einsum('mbcp,bap->bmac', samples, valid)
    return _pair_distance(inter, mass + onehot.sum(-1).unsqueeze(1), smooth)


def sample_sample_distance(
    samples: Tensor, valid: Tensor, smooth: float = 0.0
) -> Tensor:
    """Soft Jaccard distance of every sample to every sample.

    Args:
        samples: (M, B, C, P) in [0, 1].
        valid: (B, P), zero where every label ignores the pixel.
        smooth: See `_pair_distance`.

    Returns:
        (B, M, M).
    """
    maps = (samples * valid.unsqueeze(1)).permute(1, 2, 0, 3)  # (B, C, M, P)
    mass = maps.sum(-1)
    total = mass.unsqueeze(-1) + mass.unsqueeze(-2)  # (B, C, M, M)
    # min(a, b) = (a + b - |a - b|) / 2: the L1 distance of all pairs needs
    # no (M, M, P) tensor, neither forward nor backward.
    inter = (total - torch.cdist(maps, maps, p=1)) / 2
    return _pair_distance(inter.movedim(1, -1), total.movedim(1, -1), smooth)


class SoftIoULoss(BaseLoss):
    """A loss of G on the soft IoU of its samples.

    Args:
        loss_weight: Weight in G's loss.
        classes: Classes whose distance is averaged. None: foreground alone
            of two classes, all of more.
        smooth: Weight of an imaginary pixel that is on in every map.
        kwargs: Arguments of :class:`BaseLoss`.
    """

    needs = frozenset(('samples',))

    def __init__(
        self,
        loss_weight: float = 10.0,
        classes: Sequence[int] | None = None,
        smooth: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(loss_weight, **kwargs)
        not_negative(smooth=smooth)
        self.classes, self.smooth = classes, smooth

    def class_maps(self, batch: SampleBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Maps of the chosen classes, in the form that the distances take.

        Returns:
            Samples (M, B, C, P), labels as zeros and ones (B, A, C, P), and
            ones (B, A, P) where a label does not ignore the pixel.
        """
        number, classes = batch.samples.shape[2], self.classes
        if classes is None:
            classes = (1,) if number == 2 else range(number)
        for c in classes:
            one_of(range(number), classes=c)
        index = torch.tensor(list(classes), device=batch.samples.device)
        maps = batch.samples.flatten(3)
        if tuple(classes) != tuple(range(number)):
            maps = maps.index_select(2, index)
        labels = batch.labels.flatten(2)  # (B, A, P)
        onehot = (labels.unsqueeze(2) == index.view(-1, 1)).to(maps.dtype)
        valid = (labels != self.ignore_index).to(maps.dtype)
        return maps, onehot, valid


@MODELS.register_module()
class EnergyLoss(SoftIoULoss):
    """Energy distance with soft IoU: GED itself, made differentiable.

    d(a, b) = 1 - sum min(a, b) / sum max(a, b), the weighted Jaccard (Ruzicka)
    distance: 1 - IoU for label maps, and of negative type for all maps in
    [0, 1], so that the loss is a proper score: its expectation is smallest
    where samples and labels have the same distribution. The popular form with
    products, sum ab / sum (a + b - ab), agrees with it wherever one map is
    binary, hence in every sample-label pair, and has the same gradient there;
    but it gives a soft map a positive distance to itself, so that in the
    sample-sample term it would reward blur in place of diversity.

    The labels' distance to each other is constant and dropped.

    ``smooth`` adds one imaginary pixel of that weight, on in every map. It
    keeps the distance of negative type, and makes it continuous at empty
    maps: without it, a class absent from the label costs the same for a
    probability mass of 1e-6 as for the whole image.

    Args:
        unbiased: Leave out the pairs of a sample with itself: unbiased for
            independent noise. Low-discrepancy samples avoid each other, so
            that the truth lies between both settings; keeping those pairs
            costs diversity (see the results page).
        kwargs: See :class:`SoftIoULoss`.
    """

    loss_name = 'loss_energy'

    def __init__(self, unbiased: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.unbiased = unbiased

    def forward(self, batch: SampleBatch) -> Tensor:
        """Return the weighted mean over the images that have a label.

        A label's ignored pixels are masked in its pairs, those that every
        label ignores in pairs of samples. A map of ignored pixels only is no
        label. Without ``labels`` the drawn label is the only one.
        """
        number = len(batch.samples)
        at_least(2, **{'model.train_cfg.num_samples': number})
        maps, onehot, valid = self.class_maps(batch)
        exists = valid.amax(-1)  # (B, A)
        total = exists.sum(1)
        to_labels = sample_label_distance(maps, onehot, valid, self.smooth)
        to_labels = (to_labels.mean(1) * exists).sum(1) / total.clamp(min=1)
        among = sample_sample_distance(maps, valid.amax(1), self.smooth)
        # The diagonal is zero: leaving it out only changes the count.
        pairs = number * (number - int(self.unbiased))
        loss = 2 * to_labels - among.sum((1, 2)) / pairs
        return self.loss_weight * masked_mean(loss, total > 0)


def matched_distance(distances: Tensor, costs: Tensor) -> Tensor:
    """Mean distance of the best 1:1 matching, sets repeated to equal size.

    The gradient is that of the matched pairs, with the matching held fixed.

    Args:
        distances: Samples against labels, (M, A).
        costs: The same, detached and on the CPU.
    """
    if not costs.isfinite().all():
        return distances.mean()  # for the trainer to find and report
    rows, columns = match_repeated(-costs.numpy())
    return distances[torch.from_numpy(rows), torch.from_numpy(columns)].mean()


@MODELS.register_module()
class MatchingLoss(SoftIoULoss):
    """One minus HM-IoU, made differentiable: each annotator gets a sample.

    The soft IoU is that of :class:`EnergyLoss`. With few samples, matching
    rewards those that stay close to the middle of the annotators: it makes
    samples sharper where F is unsure of the image itself. Alone it would give
    up diversity; it is meant to stand beside the energy loss.
    """

    loss_name = 'loss_match'

    def forward(self, batch: SampleBatch) -> Tensor:
        """Return the weighted mean over the images that have a label."""
        maps, onehot, valid = self.class_maps(batch)
        distances = sample_label_distance(maps, onehot, valid, self.smooth)
        # One copy of the whole batch: the assignment is solved on the CPU. A
        # map of ignored pixels only is no label.
        costs, exists = distances.detach().cpu(), valid.amax(-1).cpu() > 0
        losses = []
        for own, cost, mask in zip(distances, costs, exists, strict=True):
            labels = mask.nonzero()[:, 0]
            if len(labels):
                found = matched_distance(own[:, labels], cost[:, labels])
                losses.append(found)
        if not losses:
            return 0 * batch.samples.sum()
        return self.loss_weight * torch.stack(losses).mean()
