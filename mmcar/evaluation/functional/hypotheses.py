"""Samples of one image, grouped into the few that really differ, in words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy  # its parts are imported when they are used
import torch
from torch import Tensor

from ...structures import ClassFlips
from ...utils.errors import UserError
from ...utils.ids import has_id
from .inputs import Maps, as_tensor, check_maps, image_weights, per_image
from .iou import pairwise_iou

#: Groups with a mean IoU below ``1 - APART`` are never one hypothesis.
APART = 0.5
#: Nearer groups are two if they are this much further apart than spread.
GAP = 3.0
#: Distances below it are no difference: a group is at least so spread.
SPREAD = 0.05


class Change(NamedTuple):
    """Pixels that a hypothesis gives to another class than the decision.

    Attributes:
        before: Class id in the decision.
        after: Class id in the hypothesis.
        pixels: How many pixels change.
        share: Their share of the image.
        centre: Their mean row and column, from 0 to 1.
    """

    before: int
    after: int
    pixels: int
    share: float
    centre: tuple[float, float]


class Hypothesis(NamedTuple):
    """Samples that tell the same story.

    Attributes:
        probability: Share of the samples, by their weights.
        members: Indices of the samples.
        representative: The one with the least mean distance to the others.
        changes: What sets the representative apart from the decision,
            largest area first.
    """

    probability: float
    members: tuple[int, ...]
    representative: int
    changes: tuple[Change, ...]


class FlipState(NamedTuple):
    """How often a switchable class shows each of its states.

    Attributes:
        source: Class id.
        twin: Id of its twin.
        as_source: Share of the samples in which the class prevails.
        as_twin: Share in which its twin prevails.
        absent: Share without either.
    """

    source: int
    twin: int
    as_source: float
    as_twin: float
    absent: float


def sample_distances(
    samples: Tensor, num_classes: int, classes: Sequence[int] | None = None
) -> Tensor:
    """Distance 1 - IoU of all pairs of samples.

    Args:
        samples: Label maps (S, H, W).
        num_classes: Number of classes K.
        classes: Ids whose IoU is averaged, those that occur in a pair; None
            is the foreground if K = 2, else all. Maps in which none of them
            occurs are equal.

    Returns:
        (S, S) float64.
    """
    iou = pairwise_iou(
        samples,
        samples,
        num_classes=num_classes,
        classes=classes,
        absent='skip',
        ignore_index=-1,  # samples leave no pixel open
    )
    return 1 - iou.nan_to_num(nan=1.0)


def cut_height(heights: np.ndarray) -> float:
    """Where to cut a dendrogram: the rule for what counts as different.

    Groups whose mean distance is `APART` or more are always different. Below
    it they are if the tree has a clear gap: the next merge after a height is
    at least `GAP` times as high (heights under `SPREAD` count as that), and
    at most half as many groups as samples are left there, so that a chance
    likeness of two samples proves nothing. Of several gaps the widest
    decides. Samples that differ gradually have no such gap: in an even row
    of maps each merge is about twice as high as the one before.

    Args:
        heights: Distances at which groups merge, ascending (S - 1,).

    Returns:
        The distance from which groups are different.
    """
    # After merge i there are S - 1 - i groups.
    upper = np.maximum(heights, SPREAD)[len(heights) // 2 :]
    ratios = upper[1:] / upper[:-1]
    if not len(ratios) or ratios.max() < GAP:
        return APART
    widest = ratios.argmax()
    return float(np.sqrt(upper[widest] * upper[widest + 1]))


def group_by_distance(
    distances: Tensor, threshold: float | None = None
) -> list[list[int]]:
    """Group samples by average linkage, largest group first.

    Args:
        distances: Of all pairs (S, S), in [0, 1].
        threshold: Mean distance from which groups are different; None lets
            `cut_height` choose.

    Returns:
        Indices of each group's members; groups of one size in the order of
        their first members.
    """
    if threshold is not None and not 0 < threshold <= 1:
        raise UserError(
            f'threshold={threshold!r}: expected a distance 1 - IoU above 0 '
            'and at most 1, or None'
        )
    if len(distances) == 1:
        return [[0]]
    table = distances.cpu().numpy().copy()
    np.fill_diagonal(table, 0)
    tree = scipy.cluster.hierarchy.average(
        scipy.spatial.distance.squareform(table, checks=False)
    )
    if threshold is None:
        threshold = cut_height(tree[:, 2])
    # Strictly below: groups at the threshold itself are different.
    limit = np.nextafter(threshold, 0)
    names = scipy.cluster.hierarchy.fcluster(tree, limit, criterion='distance')
    groups: dict[int, list[int]] = {}
    for i, name in enumerate(names.tolist()):
        groups.setdefault(name, []).append(i)
    return sorted(groups.values(), key=len, reverse=True)


@torch.no_grad()
def hypotheses(
    samples: Maps,
    decision: Maps,
    *,
    num_classes: int,
    classes: Sequence[int] | None = None,
    threshold: float | None = None,
    sample_weights: Maps | None = None,
    num_samples: int | None = None,
) -> list:
    """Group the samples of an image into hypotheses.

    Args:
        samples: Label maps (N, S, H, W), or (S, H, W) of one image.
        decision: The model's decision (N, H, W) or (H, W), which changes
            refer to.
        num_classes: Number of classes K.
        classes: See `sample_distances`.
        threshold: See `group_by_distance`.
        sample_weights: What each sample counts (N, S) or (S,); None is
            uniform.
        num_samples: S, to make sure that the axes are in this order.

    Returns:
        Each `Hypothesis` of one image, most probable first; of N images, a
        list of these.

    Example:
        >>> import mmcar, torch
        >>> maps = torch.tensor([[[0, 1]], [[1, 0]], [[0, 1]]])
        >>> first, second = mmcar.hypotheses(maps, maps[0], num_classes=2)
        >>> first.members, second.probability
        ((0, 2), 0.333...)
    """

    def find(
        maps: Tensor, decided: Tensor, weights: Tensor | None, _: None
    ) -> list[Hypothesis]:
        check_maps('samples', maps, num_classes)
        check_maps('decision', decided, num_classes)
        distances = sample_distances(maps, num_classes, classes)
        weights = _weights(maps, weights)
        found = []
        for members in group_by_distance(distances, threshold):
            within = distances[members][:, members] @ weights[members]
            best = members[int(within.argmin())]
            changes = find_changes(decided[0], maps[best], num_classes)
            share = float(weights[members].sum() / weights.sum())
            found.append(Hypothesis(share, tuple(members), best, changes))
        return sorted(found, key=lambda h: h.probability, reverse=True)

    samples = as_tensor('samples', samples)
    decided = as_tensor('decision', decision)
    own = samples.shape[:-3] + samples.shape[-2:]
    if decided.shape != own:
        raise UserError(
            f'decision of shape {tuple(decided.shape)} for samples of shape '
            f'{tuple(samples.shape)}: expected {tuple(own)}'
        )
    decided = decided.unsqueeze(-3)
    return per_image(
        find, samples, decided, sample_weights, num_samples=num_samples
    )


def _weights(samples: Tensor, weights: Tensor | None) -> Tensor:
    """What each sample counts (S,)."""
    (given,) = image_weights('sample_weights', weights, samples)
    if given is not None:
        return given
    return torch.ones(len(samples), device=samples.device).double()


def find_flip_states(
    samples: Tensor, flips: ClassFlips, sample_weights: Tensor | None = None
) -> list[FlipState]:
    """How often each switchable class is itself, its twin, or absent.

    Args:
        samples: Label maps (S, H, W).
        flips: The table of class flips.
        sample_weights: What each sample counts (S,); None is uniform.

    Returns:
        One row per flip; in a sample with both, the larger area counts.
    """
    weights = _weights(samples, sample_weights)
    states = []
    for source, twin, _ in flips:
        own = has_id(samples, source).flatten(1).sum(1)
        other = has_id(samples, twin).flatten(1).sum(1)
        absent, as_twin = (
            float(weights[which].sum() / weights.sum())
            for which in (own + other == 0, other > own)
        )
        as_source = 1 - as_twin - absent
        states.append(FlipState(source, twin, as_source, as_twin, absent))
    return states


def find_changes(
    decision: Tensor, label_map: Tensor, num_classes: int, limit: int = 3
) -> tuple[Change, ...]:
    """The largest differences of a map from the decision.

    Args:
        decision: Label map (H, W).
        label_map: Label map (H, W).
        num_classes: Number of classes K.
        limit: Changes returned at most.

    Returns:
        Pairs of classes with most changed pixels, largest first.
    """
    pairs = decision.long() * num_classes + label_map.long()
    counts = torch.bincount(pairs.flatten(), minlength=num_classes**2)
    counts = counts.view(num_classes, num_classes).fill_diagonal_(0)
    order = counts.flatten().argsort(descending=True, stable=True)
    size = torch.tensor(decision.shape, dtype=torch.float64)
    changes = []
    for pair in order[:limit].tolist():
        number = int(counts.flatten()[pair])
        if not number:
            break
        places = (pairs == pair).nonzero().double().cpu()
        row, column = ((places.mean(0) + 0.5) / size).tolist()
        share = number / decision.numel()
        before, after = divmod(pair, num_classes)
        changes.append(Change(before, after, number, share, (row, column)))
    return tuple(changes)


def describe_changes(changes: Sequence[Change], classes: Sequence[str]) -> str:
    """Put what sets a hypothesis apart into words.

    Args:
        changes: Against the decision.
        classes: Names of the classes.
    """
    if not changes:
        return 'as the decision'
    return '; '.join(_words(change, classes) for change in changes)


def _words(change: Change, classes: Sequence[str]) -> str:
    share = '< 0.1' if change.share < 0.001 else f'{100 * change.share:.1f}'
    pixels = 'pixel' if change.pixels == 1 else 'pixels'
    return (
        f'{classes[change.after]} instead of {classes[change.before]} on '
        f'{share} % of the image ({change.pixels} {pixels}, '
        f'{_place(change.centre)})'
    )


def _place(centre: tuple[float, float]) -> str:
    """A place in the image in words, by thirds."""
    row = ('top', '', 'bottom')[min(int(3 * centre[0]), 2)]
    column = ('left', '', 'right')[min(int(3 * centre[1]), 2)]
    return ' '.join(part for part in (row, column) if part) or 'centre'
