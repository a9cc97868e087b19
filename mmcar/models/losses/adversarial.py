"""The game of G and D."""

import torch
import torch.nn.functional as F
from mmseg.registry import MODELS
from torch import Tensor

from ...utils.checks import one_of
from ...utils.precision import full_precision
from .base import BaseLoss, SampleBatch

MODES = ('non_saturating', 'hinge', 'least_squares')


@MODELS.register_module()
class AdversarialLoss(BaseLoss):
    """The game of G and D, on D's logits.

    Args:
        mode: 'non_saturating' (the paper's; binary cross entropy for D),
            'hinge' or 'least_squares'.
        loss_weight: Weight in G's loss; D's loss is not weighted.
    """

    loss_name = 'loss_adv'

    def __init__(
        self, mode: str = 'non_saturating', loss_weight: float = 10.0
    ) -> None:
        super().__init__(loss_weight)
        one_of(MODES, mode=mode)
        self.mode = mode

    def generator(self, fake_logits: Tensor) -> Tensor:
        """Unweighted loss of G on logits of any shape, a scalar."""
        if self.mode == 'non_saturating':
            return F.softplus(-fake_logits).mean()
        if self.mode == 'hinge':
            return -fake_logits.mean()
        return 0.5 * (fake_logits - 1).square().mean()

    def discriminator(
        self, real_logits: Tensor, fake_logits: Tensor
    ) -> Tensor:
        """Loss of D: its means over real and over fake logits, added."""
        if self.mode == 'non_saturating':
            real, fake = F.softplus(-real_logits), F.softplus(fake_logits)
        elif self.mode == 'hinge':
            real, fake = F.relu(1 - real_logits), F.relu(1 + fake_logits)
        else:
            real = 0.5 * (real_logits - 1).square()
            fake = 0.5 * fake_logits.square()
        return real.mean() + fake.mean()

    @torch.no_grad()
    def accuracy(self, real_logits: Tensor, fake_logits: Tensor) -> Tensor:
        """Share of logits on the right side of what D takes for undecided."""
        middle = 0.5 if self.mode == 'least_squares' else 0.0
        real = (real_logits > middle).float().mean()
        return (real + (fake_logits < middle).float().mean()) / 2

    def forward(self, batch: SampleBatch) -> Tensor:
        """Return G's weighted loss over all M samples, a scalar."""
        logits = batch.require('fake_logits', self)
        with full_precision(logits):
            return self.loss_weight * self.generator(logits)
