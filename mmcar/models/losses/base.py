"""What every loss shares, and what the losses of G's samples see."""

from collections.abc import Sequence
from dataclasses import dataclass

from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.checks import not_negative
from ...utils.errors import UserError
from ...utils.precision import full_precision

# Fields of a `SampleBatch` that are filled only if a loss needs them.
ALL_NEEDS = frozenset(('samples', 'log_probs'))


@dataclass
class SampleBatch:
    """What the losses of G see: M samples of each of B images.

    Attributes:
        mean: Mean of the samples' probabilities, (B, K, H, W).
        label: The label drawn for each image, (B, H, W) int64.
        num_samples: M.
        log_probs: Log-probabilities of F, (B, K, H, W), a fixed target; None
            if neither G nor a loss needs them.
        samples: The probabilities themselves, (M, B, K, H, W); None unless
            a loss needs them.
        fake_logits: D's logits of the samples, (M, B) or (M, B, h, w).
        labels: The labels of all annotators, (B, A, H, W); images with fewer
            than A have maps filled with the ignore index at the end. If they
            are not known, the drawn one.
        posterior: Mean and log-variance of the latent code, each (B, d).
    """

    mean: Tensor
    label: Tensor
    num_samples: int
    log_probs: Tensor | None = None
    samples: Tensor | None = None
    fake_logits: Tensor | None = None
    labels: Tensor | None = None
    posterior: tuple[Tensor, Tensor] | None = None

    def __post_init__(self) -> None:
        if self.labels is None:
            self.labels = self.label.unsqueeze(1)


class BaseLoss(nn.Module):
    """A loss with a name, a weight and an ignore index.

    A loss of G's samples is called with a :class:`SampleBatch` and returns
    its weighted value. It need not derive from this class: what a loss does
    not say of itself is assumed.

    Args:
        loss_weight: Weight of the loss.
        ignore_index: Pixels with this label are left out.
        loss_name: Name in the log; None: that of the class.

    Attributes:
        needs: Fields of the batch that must be filled, of `ALL_NEEDS`.
    """

    loss_name = 'loss'
    needs: frozenset[str] = frozenset()

    def __init__(
        self,
        loss_weight: float = 1.0,
        ignore_index: int = 255,
        loss_name: str | None = None,
    ) -> None:
        super().__init__()
        not_negative(loss_weight=loss_weight)
        self.loss_weight = loss_weight
        self.ignore_index = ignore_index
        if loss_name is not None:
            self.loss_name = loss_name

    def mask(self, batch: SampleBatch) -> Tensor:
        """Where the drawn label counts, (B, H, W) bool."""
        return batch.label != self.ignore_index


class Losses(nn.ModuleList):
    """One loss or several, each with a name of its own in the log.

    Args:
        configs: Config of one loss, or several.
    """

    def __init__(self, configs: dict | Sequence[dict]) -> None:
        if isinstance(configs, dict):
            configs = [configs]
        super().__init__(MODELS.build(cfg) for cfg in configs)
        self.names: list[str] = []
        for loss in self:
            name = getattr(loss, 'loss_name', type(loss).__name__)
            if 'loss' not in name:  # MMEngine's mark of what is added up
                name = f'loss_{name}'
            number, first = 1, name
            while name in self.names:
                number += 1
                name = f'{first}_{number}'
            self.names.append(name)


class SampleLosses(Losses):
    """The losses of G's samples, added up and logged apart.

    Args:
        configs: Config of one loss, or several.
    """

    def __init__(self, configs: dict | Sequence[dict]) -> None:
        super().__init__(configs)
        for loss in self:
            if type(loss).__module__.startswith('mmseg.'):
                raise UserError(
                    f'model.loss_samples: {type(loss).__name__} is a loss of '
                    'pixels; expected one of samples, such as EnergyLoss'
                )

    @property
    def needs(self) -> frozenset[str]:
        """Fields of the batch that some loss needs."""
        needs = (getattr(loss, 'needs', ALL_NEEDS) for loss in self)
        return frozenset().union(*needs)

    def forward(self, batch: SampleBatch) -> dict[str, Tensor]:
        """Return the weighted losses by name, in full precision."""
        with full_precision(batch.mean):
            return {
                name: loss(batch)
                for name, loss in zip(self.names, self, strict=True)
            }


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean over the pixels where ``mask`` is True; 0 if there is none.

    Masked values may be anything, NaN included: they are replaced, not
    multiplied by zero.
    """
    return values.where(mask, 0.0).sum() / mask.sum().clamp(min=1)


def keep_from_zero(probs: Tensor, eps: float) -> Tensor:
    """Mix in the uniform distribution, so that no class is below ``eps``.

    Unlike clamping to [eps, 1 - eps], which gives the same range for two
    classes, it keeps the sum at 1 and the gradient alive: a sample mean that
    has collapsed to exactly 0 or 1 must still be pulled back.

    Args:
        probs: (B, K, ...).
        eps: Smallest probability after mixing; 0 changes nothing.
    """
    num_classes = probs.shape[1]
    if not 0 <= eps * num_classes < 1:
        raise UserError(f'eps={eps}: expected 0 <= eps < 1 / {num_classes}')
    return (1 - num_classes * eps) * probs + eps
