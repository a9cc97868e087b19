"""Few numbers between F's logits and its probabilities: post-hoc scaling."""

from collections.abc import Sequence

import torch
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.checks import one_of
from ...utils.errors import UserError
from ...utils.scaling import METHODS, identity_parameters, rescale


@MODELS.register_module()
class ProbabilityScaling(nn.Module):
    """All that stands between F's logits and the head's probabilities.

    First the temperature of the config divides the logits. Then follows what
    has been fitted on validation images, if anything: it comes with a
    checkpoint, which needs no setting in the config.

    Args:
        num_classes: Number of classes K.
        temperature: One number, or one per class. It belongs to the config;
            checkpoints do not hold it.

    Attributes:
        method: What has been fitted, one of `METHODS`, or None.
    """

    def __init__(
        self, num_classes: int, temperature: float | Sequence[float] = 1.0
    ) -> None:
        super().__init__()
        values = torch.tensor(temperature, dtype=torch.float32)
        right_shape = values.shape in ((), (num_classes,))
        if not right_shape or not (values > 0).all():
            raise UserError(
                f'decode_head.temperature={temperature!r}: expected one number'
                f' > 0, or {num_classes}'
            )
        self.num_classes = num_classes
        self.method: str | None = None
        self.register_buffer(
            'temperature', values.expand(num_classes).clone(), persistent=False
        )
        # Empty until something is fitted, so checkpoints without it are whole.
        for name in ('method_id', 'weight', 'bias'):
            self.register_buffer(name, None)

    def set_fitted(self, method: str, weight: Tensor, bias: Tensor) -> None:
        """Take over what has been fitted.

        Args:
            method: One of `METHODS`.
            weight: See `identity_parameters`.
            bias: Likewise.
        """
        neutral = identity_parameters(method, self.num_classes)
        found = tuple(weight.shape), tuple(bias.shape)
        expected = tuple(tuple(value.shape) for value in neutral)
        finite = weight.isfinite().all() and bias.isfinite().all()
        if found != expected or not finite:
            raise UserError(
                f'decode_head.scaling: {method} by values of shapes {found}, '
                f'expected finite ones, {expected}: run tools/calibrate.py'
            )
        self.method = method
        device = self.temperature.device
        self.method_id = torch.tensor(METHODS.index(method), device=device)
        self.weight = weight.detach().to(device, torch.float32).clone()
        self.bias = bias.detach().to(device, torch.float32).clone()

    def clear(self) -> None:
        """Forget what has been fitted."""
        self.method = self.method_id = self.weight = self.bias = None

    def log_probs(self, logits: Tensor) -> Tensor:
        """Log-probabilities (B, K, H, W) at the config's temperature."""
        scaled = logits.float() / self.temperature.view(-1, 1, 1)
        return scaled.log_softmax(dim=1)

    def forward(self, log_probs: Tensor) -> Tensor:
        """Apply what has been fitted to log-probabilities (B, K, H, W)."""
        if self.method is None:
            return log_probs
        return rescale(log_probs, self.method, self.weight, self.bias)

    def _load_from_state_dict(
        self, state_dict: dict, prefix: str, *args: object
    ) -> None:
        """Take over the scaling of a checkpoint that has one."""
        names = ('method_id', 'weight', 'bias')
        found = [state_dict.get(prefix + name) for name in names]
        if all(value is not None for value in found):
            method_id, weight, bias = found
            key = f'{prefix}method_id'
            one_of(range(len(METHODS)), **{key: int(method_id)})
            self.set_fitted(METHODS[int(method_id)], weight, bias)
        super()._load_from_state_dict(state_dict, prefix, *args)
