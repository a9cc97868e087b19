"""What F learns from: losses of every pixel's class probabilities."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.checks import agree
from ...utils.errors import UserError
from ...utils.precision import full_precision
from .base import BaseLoss, Losses

#: Losses of MMSeg that do not learn a distribution over classes.
UNFIT: tuple[dict[str, Any], ...] = (
    dict(type='CrossEntropyLoss', use_sigmoid=True),
    dict(type='CrossEntropyLoss', use_mask=True),
    dict(type='LovaszLoss', loss_type='binary'),
    dict(type='DiceLoss', activate=False),
    dict(type='BoundaryLoss'),
    dict(type='KLDivLoss'),
    dict(type='SiLogLoss'),
)


def label_cross_entropy(
    log_probs: Tensor,
    target: Tensor,
    valid: Tensor | None = None,
    ignore_index: int = 255,
    class_weight: Tensor | None = None,
) -> Tensor:
    """Cross entropy of log-probabilities with hard or soft labels.

    Args:
        log_probs: (B, K, H, W).
        target: One label per pixel, (B, H, W) integer; or a distribution
            over classes (e.g. the mean of the annotators), (B, K, H, W).
        valid: (B, H, W) bool, pixels that count; None for all.
        ignore_index: Pixels with this hard label do not count either.
        class_weight: Weight of each class, (K,); None for equal ones.

    Returns:
        Mean over the pixels that count, weighted by the class of their
        label; a scalar, 0 if no pixel counts.
    """
    if class_weight is not None:
        classes = {'classes': log_probs.shape[1]}
        agree({'numbers in class_weight': len(class_weight), **classes})
    shares = target
    if target.dim() < log_probs.dim():
        known = target != ignore_index
        valid = known if valid is None else valid & known
        index = target.where(known, 0).long()
        log_probs = log_probs.gather(1, index.unsqueeze(1))  # (B, 1, H, W)
        shares = torch.ones_like(log_probs)
        if class_weight is not None:
            shares = class_weight.to(log_probs)[index].unsqueeze(1)
    elif class_weight is not None:
        shares = target * class_weight.to(log_probs).view(-1, 1, 1)
    # 0 * -inf is NaN, but a class of probability zero costs nothing.
    costs = torch.where(shares > 0, -shares * log_probs, 0).sum(1)
    weight = shares.sum(1)  # (B, H, W)
    if valid is not None:
        costs, weight = costs.where(valid, 0), weight.where(valid, 0)
    return costs.sum() / weight.sum().clamp(min=1e-12)


@MODELS.register_module()
class LabelCrossEntropy(BaseLoss):
    """Cross entropy with a drawn label or the annotators' mean.

    Args:
        loss_weight: Weight of the loss.
        class_weight: Weight of each class, K numbers; None for equal ones.
            Unequal ones bias F's probabilities: the rarer class is predicted
            more often than it occurs.
        kwargs: Arguments of :class:`BaseLoss`.
    """

    loss_name = 'loss_ce'

    def __init__(
        self,
        loss_weight: float = 1.0,
        class_weight: Sequence[float] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(loss_weight, **kwargs)
        weights = None if class_weight is None else torch.tensor(class_weight)
        self.register_buffer('class_weight', weights, persistent=False)

    def forward(
        self, logits: Tensor, target: Tensor, valid: Tensor | None = None
    ) -> Tensor:
        """Return the weighted loss, a scalar.

        Args:
            logits: F's logits (or log-probabilities), (B, K, H, W).
            target: (B, H, W) integer or (B, K, H, W) distribution.
            valid: (B, H, W) bool, pixels that count; None for all.
        """
        log_probs, ignored = logits.log_softmax(1), self.ignore_index
        return self.loss_weight * label_cross_entropy(
            log_probs, target, valid, ignored, self.class_weight
        )


class PixelLosses(Losses):
    """The losses of F, added up and logged apart: ours or MMSeg's.

    Args:
        configs: Config of one loss, or several.
        ignore_index: Id of unlabelled pixels, handed to MMSeg's losses.
    """

    def __init__(
        self, configs: dict | Sequence[dict], ignore_index: int
    ) -> None:
        for cfg in [configs] if isinstance(configs, dict) else configs:
            _refuse_unfit(cfg)
        super().__init__(configs)
        self.ignore_index = ignore_index

    def forward(
        self,
        log_probs: Tensor,
        label: Tensor,
        soft: tuple[Tensor, Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """Return the weighted losses by name, in full precision.

        Args:
            log_probs: F's log-probabilities (B, K, H, W).
            label: The drawn label (B, H, W).
            soft: Label distribution (B, K, H, W) and where it is known
                (B, H, W), to learn from in place of the drawn label.
        """
        target = (label,) if soft is None else soft
        losses = {}
        with full_precision(log_probs):
            for name, loss in zip(self.names, self, strict=True):
                if isinstance(loss, BaseLoss):
                    losses[name] = loss(log_probs, *target)
                elif soft is None:
                    losses[name] = self._mmseg_loss(loss, log_probs, label)
                else:
                    raise UserError(
                        f'train_cfg.soft_labels=True: {type(loss).__name__} '
                        'takes one label per pixel; use LabelCrossEntropy'
                    )
        return losses

    def _mmseg_loss(
        self, loss: nn.Module, log_probs: Tensor, label: Tensor
    ) -> Tensor:
        """Call a loss as MMSeg's decode heads do."""
        options: dict = dict(ignore_index=self.ignore_index)
        weights = getattr(loss, 'class_weight', None)
        if weights is not None:
            # Its own mean looks up the weight of every label, ignored ones
            # included, which have none.
            known = label[label != self.ignore_index]
            weights = log_probs.new_tensor(weights)
            options['avg_factor'] = weights[known].sum().clamp(min=1e-12)
        taken = inspect.signature(loss.forward).parameters
        if not any(p.kind is p.VAR_KEYWORD for p in taken.values()):
            options = {k: v for k, v in options.items() if k in taken}
        # A softmax of log-probabilities are the probabilities; so is a
        # sigmoid of the log-odds of each class.
        by_class = getattr(loss, 'use_sigmoid', False)
        return loss(
            log_odds(log_probs) if by_class else log_probs, label, **options
        )


def log_odds(log_probs: Tensor) -> Tensor:
    """Logits whose sigmoid is the probability of each class."""
    rest = -torch.expm1(log_probs)  # 1 - p, exact for small p
    return log_probs - rest.clamp_min(torch.finfo(rest.dtype).tiny).log()


def _refuse_unfit(cfg: Mapping) -> None:
    """Refuse a loss of MMSeg that F's probabilities are not made for."""
    known = {**cfg, 'type': str(cfg.get('type')).rpartition('.')[2]}
    for unfit in UNFIT:
        if all(known.get(key) == value for key, value in unfit.items()):
            raise UserError(
                f'model.loss_pixels: {unfit} learns no distribution over '
                'classes; expected LabelCrossEntropy, or one with a softmax'
            )
