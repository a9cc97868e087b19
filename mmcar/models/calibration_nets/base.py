"""What every calibration net F shares.

A net has ``num_classes`` and is called with ``(image, black_box_probs,
data_samples)``; it returns logits (B, K, H, W) at the size of the image.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from mmengine.model import BaseModule
from mmseg.structures import SegDataSample
from torch import Tensor, nn

from ...sampling.kernels import fast_layout
from ...utils.checks import agree, at_least, channels, one_of
from ...utils.errors import UserError
from ..views import views_of

MIN_PROBABILITY = 1e-6


class BaseCalibration(BaseModule):
    """A net that sees the image and, if there are any, B's probabilities.

    Args:
        num_classes: Number of classes, K.
        black_box_classes: Classes of the black box, 0 without one.
        symmetric: Outside training, average the probabilities over the flips
            and quarter turns of the image (eight views of a square one): a
            better F for eight times its work, where up is no direction.
            ``'horizontal'``: over the image and its mirror image.
        residual: Start as the black box: the logits are the logarithm of its
            probabilities plus the net's output, which is zero at first.
        class_map: With ``residual``, the black box's class that each of the K
            classes starts from; classes that share one share its probability
            equally, as class and twin. None: the same classes.
        init_cfg: Initialisation config of MMEngine.

    Attributes:
        in_channels: Channels of the image; None: the net takes any.
        last_layer: The layer that gives the logits, for ``residual``; None:
            the net cannot do that.
        starts_trained: Whether it is of use before it has learnt: as the
            black box is.
    """

    in_channels: int | None = None
    last_layer: nn.Module | None = None

    def __init__(
        self,
        num_classes: int,
        black_box_classes: int = 0,
        symmetric: bool | str = False,
        residual: bool = False,
        class_map: Sequence[int] | None = None,
        init_cfg: dict | list | None = None,
    ) -> None:
        super().__init__(init_cfg)
        one_of((True, False, 'horizontal'), symmetric=symmetric)
        self.symmetric = symmetric
        at_least(2, num_classes=num_classes)
        at_least(0, black_box_classes=black_box_classes)
        self.num_classes = num_classes
        self.black_box_classes = black_box_classes
        self.start, self.starts_trained = None, residual
        if residual:
            self.start = BlackBoxStart(
                num_classes, black_box_classes, class_map
            )
        elif class_map is not None:
            raise UserError('calibration.class_map: expected residual=True')

    @abstractmethod
    def predict_logits(self, x: Tensor) -> Tensor:
        """Map inputs (B, C + black_box_classes, H, W) to logits."""

    def start_as_black_box(self) -> None:
        """Let the net add nothing, if it is to start as the black box.

        Subclasses call it once they are built.
        """
        if self.start is None:
            return
        if self.last_layer is None:
            raise UserError(
                f'calibration.residual=True: {type(self).__name__} names no '
                '`last_layer` that could start at zero'
            )
        for parameter in self.last_layer.parameters():
            nn.init.zeros_(parameter)

    def init_weights(self) -> None:
        """Initialise; only trained weights replace the zero at the start."""
        configs = self.init_cfg or ()
        configs = [configs] if isinstance(configs, dict) else configs
        loads = any(cfg.get('type') == 'Pretrained' for cfg in configs)
        fresh = not self.is_init and not loads
        super().init_weights()
        if fresh:
            self.start_as_black_box()

    def forward(
        self,
        image: Tensor,
        black_box_probs: Tensor | None = None,
        data_samples: Sequence[SegDataSample] | None = None,
    ) -> Tensor:
        """Return logits (B, K, H, W).

        Args:
            image: Normalised images (B, C, H, W).
            black_box_probs: Probabilities (B, black_box_classes, H, W).
            data_samples: Ignored here.
        """
        if self.in_channels is not None:
            channels(image, **{'calibration.in_channels': self.in_channels})
        given = 0 if black_box_probs is None else black_box_probs.shape[1]
        expected = {'calibration.black_box_classes': self.black_box_classes}
        agree({**expected, 'classes that the black box predicts': given})
        if black_box_probs is not None:
            image = torch.cat((image, black_box_probs), dim=1)
        image = fast_layout(image)
        if not self.symmetric or self.training:
            return self._logits(image)
        symmetries = 'square' if self.symmetric is True else self.symmetric
        size = (image.shape[2], image.shape[3])
        seen = torch.stack(
            [
                view.back(self._logits(view.look(image)).log_softmax(1), size)
                for view in views_of(symmetries, size)
            ]
        )
        return seen.logsumexp(0) - math.log(len(seen))  # of the mean

    def _logits(self, x: Tensor) -> Tensor:
        """The net's logits (B, K, H, W), on top of B's where they start."""
        logits = self.predict_logits(x)
        if self.start is None:
            return logits
        return logits + self.start(x[:, -self.black_box_classes :])


class ConvNetCalibration(BaseCalibration):
    """A net that is built for the channels of its input.

    Args:
        in_channels: Channels of the image, C.
        kwargs: Further arguments of :class:`BaseCalibration`.

    Attributes:
        input_channels: C + black_box_classes, what `predict_logits` gets.
    """

    def __init__(self, *, in_channels: int = 3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        at_least(1, in_channels=in_channels)
        self.in_channels = in_channels
        self.input_channels = in_channels + self.black_box_classes


class BlackBoxStart(nn.Module):
    """The black box's log-probabilities, in the classes of the task.

    Args:
        num_classes: Number of classes, K.
        black_box_classes: Classes of the black box, K_b.
        class_map: See :class:`BaseCalibration`.
    """

    def __init__(
        self,
        num_classes: int,
        black_box_classes: int,
        class_map: Sequence[int] | None,
    ) -> None:
        super().__init__()
        if class_map is None and black_box_classes == num_classes:
            class_map = range(num_classes)
        known = {*range(black_box_classes)} >= {*(class_map or [-1])}
        if not known or len(class_map) != num_classes:
            raise UserError(
                f'calibration.residual=True with class_map={class_map}: '
                f'expected {num_classes} ids below {black_box_classes}'
            )
        sources = torch.tensor(class_map)
        sharers = sources.bincount(minlength=black_box_classes)[sources]
        self.register_buffer('sources', sources, persistent=False)
        self.register_buffer(
            'share', sharers.float().log().view(-1, 1, 1), persistent=False
        )

    def forward(self, probs: Tensor) -> Tensor:
        """Map probabilities (B, K_b, H, W) to logits (B, K, H, W)."""
        # A zero is rounding, not knowledge: the net could never correct it.
        log_probs = probs.clamp_min(MIN_PROBABILITY).log()
        return log_probs[:, self.sources] - self.share
