"""Margins by rank: label maps whose frequencies are given probabilities.

Any sampler gives S score maps per image. At every pixel only the order of the
S scores is kept: of two classes, the samples with the highest scores of a
class get it, as many of them as its probability says. So frequencies are F's
up to 1 / S whatever the scores are, and which pixels go together is the
scores' alone. More classes are decided one after the other, groups of names
first: each decision is again one of two.

How often S p is rounded up follows from one number v ~ U(0, 1) per image: the
samples are the points r - v, r = 1 ... S, of a line on which class k has an
interval of length S p_k. It holds S p_k points, rounded down or up, and that
many on average over v.

Shapes: S samples, B images, K classes.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from .gumbel import all_groups

# Numbers per sample: what breaks ties, and (of the first sample) v.
NOISE_SIZE = 2

LEAST = -1e15
# Of scores, and below all of them: finite, as differences are taken.
LOWEST = -1e30


class Decision(NamedTuple):
    """Some classes against others, at every pixel.

    Attributes:
        first: Ids of the former.
        rest: Ids of the latter.
        drawn: Samples for which it is one of both (S, B, H, W), bool.
        chosen: Those of them for which it is the former.
        margin: Score above the threshold between chosen and others, infinite
            where all or none are chosen (S, B, H, W).
    """

    first: list[int]
    rest: list[int]
    drawn: Tensor
    chosen: Tensor
    margin: Tensor


class Margins:
    """Turns scores of samples into label maps of given frequencies.

    Args:
        num_classes: Number of classes, K.
        groups: Ids of classes that are names of one thing, as
            :class:`GumbelSampler` has them: a group is decided before its
            names.
    """

    def __init__(
        self, num_classes: int, groups: Sequence[Sequence[int]] | None = None
    ) -> None:
        # Background, as a rule class 0, is what is left in the end.
        self.order = all_groups(num_classes, groups or ())[::-1]

    def labels(
        self, scores: Tensor, log_probs: Tensor, noise: Tensor
    ) -> Tensor:
        """Label maps (S, B, H, W), int64.

        Args:
            scores: Logits of all samples (S, B, K, H, W).
            log_probs: Logarithm of the frequencies (B, K, H, W).
            noise: Standard normal (S, B, NOISE_SIZE).
        """
        ties = noise[..., 0].argsort(dim=0)[..., None, None]  # (S, B, 1, 1)
        scores = scores.detach().take_along_dim(ties[..., None], 0)
        labels = torch.zeros_like(scores[:, :, 0], dtype=torch.long)
        for step in self._decisions(scores, log_probs, noise):
            others = step.drawn & ~step.chosen
            for ids, own in (step.first, step.chosen), (step.rest, others):
                labels = torch.where(own, ids[0], labels)
        return labels.take_along_dim(ties.argsort(dim=0), 0)

    def maps(
        self,
        scores: Tensor,
        log_probs: Tensor,
        noise: Tensor,
        temperature: float = 1.0,
    ) -> Tensor:
        """Probabilities (S, B, K, H, W) around `labels`, with gradients.

        Of two classes it is the sigmoid of a sample's distance from the
        threshold that parts the chosen samples from the others, so that
        scores learn to trade places. Where a pixel is certain, so are they.

        Args:
            scores: Logits of all samples (S, B, K, H, W).
            log_probs: Logarithm of the frequencies (B, K, H, W).
            noise: Standard normal (S, B, NOISE_SIZE).
            temperature: Divides the distances.
        """
        factors: list[Tensor | float] = [1.0] * scores.shape[2]
        for step in self._decisions(scores, log_probs, noise):
            share = torch.sigmoid(step.margin / temperature)
            for i in step.first:
                factors[i] = factors[i] * share
            for i in step.rest:
                factors[i] = factors[i] * (1 - share)
        return torch.stack(factors, dim=2)  # type: ignore[arg-type]

    def _decisions(
        self, scores: Tensor, log_probs: Tensor, noise: Tensor
    ) -> Iterator[Decision]:
        """All decisions, one after the other."""
        classes = [i for ids in self.order for i in ids]
        scores = scores.float().clamp_min(LEAST)
        ends = points_before(log_probs.detach()[:, classes], noise)
        counts = dict(zip(classes, ends.diff(dim=1).unbind(1), strict=True))
        drawn = torch.ones_like(scores[:, :, 0], dtype=torch.bool)
        for place, group in enumerate(self.order):
            later = [i for ids in self.order[place + 1 :] for i in ids]
            own = drawn
            if later:
                step = _decide(scores, counts, group, later, drawn)
                yield step
                own, drawn = step.chosen, drawn & ~step.chosen
            for index in range(1, len(group)):
                names = group[index - 1 : index], group[index:]
                step = _decide(scores, counts, *names, own)
                yield step
                own = own & ~step.chosen


def points_before(log_probs: Tensor, noise: Tensor) -> Tensor:
    """How many of the points r - v lie before the end of each interval.

    Args:
        log_probs: Logarithm of the frequencies (B, K, H, W).
        noise: Standard normal (S, B, NOISE_SIZE).

    Returns:
        (B, K + 1, H, W), from 0 to S, int64.
    """
    probs = log_probs.double().exp()
    ends = probs.cumsum(1) / probs.sum(1, keepdim=True)
    normal = noise[0, :, 1].double().view(-1, 1, 1, 1)
    v = (1 + torch.erf(normal / 2**0.5)) / 2
    number = len(noise)
    before = (number * ends + v.clamp(1e-9, 1 - 1e-9)).ceil().long() - 1
    before = torch.cat((torch.zeros_like(before[:, :1]), before), dim=1)
    before[:, -1] = number  # also where rounding would have it otherwise
    return before.clamp_(0, number)


def _decide(
    scores: Tensor,
    counts: dict[int, Tensor],
    first: list[int],
    rest: list[int],
    drawn: Tensor,
) -> Decision:
    """Choose the samples with the highest odds of the first classes."""
    odds = scores[:, :, first].logsumexp(2) - scores[:, :, rest].logsumexp(2)
    ranked, index = torch.sort(
        odds.where(drawn, LOWEST), dim=0, descending=True, stable=True
    )
    number = torch.stack([counts[i] for i in first]).sum(0)  # (B, H, W)
    place = torch.arange(len(odds), device=odds.device).view(-1, 1, 1, 1)
    chosen = torch.zeros_like(drawn).scatter_(0, index, place < number)
    last = (number - 1).clamp_min(0)[None]  # of those that are chosen
    both = torch.cat((last, (last + 1).clamp_max(len(odds) - 1)))
    undecided = (number > 0) & (number < drawn.sum(0))
    threshold = ranked.gather(0, both).mean(0).where(undecided, 0.0)
    certain = torch.where(number > 0, math.inf, -math.inf)
    margin = (odds - threshold).where(undecided, certain)
    return Decision(first, rest, drawn, chosen, margin)
