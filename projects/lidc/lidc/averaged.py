"""Several trained F as one: the mean of what they predict."""

from collections.abc import Sequence
from pathlib import Path

from mmengine.model import BaseModule
from mmengine.runner.checkpoint import CheckpointLoader
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor, nn

from mmcar.utils.precision import log_mean

PREFIX = 'decode_head.calibration.'


@MODELS.register_module()
class AveragedCalibration(BaseModule):
    """The mean of the probabilities of several F of one kind.

    Args:
        num_classes: Number of classes, K.
        net: Config of each F.
        number: How many there are.
        black_box_classes: Classes of the black box, 0 without one.
    """

    def __init__(
        self,
        num_classes: int,
        net: dict,
        number: int,
        black_box_classes: int = 0,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        net = dict(
            net, num_classes=num_classes, black_box_classes=black_box_classes
        )
        self.nets = nn.ModuleList(MODELS.build(net) for _ in range(number))

    def forward(
        self,
        image: Tensor,
        black_box_probs: Tensor | None = None,
        data_samples: Sequence[SegDataSample] | None = None,
    ) -> Tensor:
        """Return log-probabilities (B, K, H, W).

        Args:
            image: Normalised images (B, C, H, W).
            black_box_probs: Probabilities (B, black_box_classes, H, W).
            data_samples: Handed on.
        """
        return log_mean(
            net(image, black_box_probs, data_samples).softmax(1)
            for net in self.nets
        )


def join(checkpoints: Sequence[str | Path]) -> dict[str, Tensor]:
    """Weights of the mean from trainings of each F.

    Args:
        checkpoints: Checkpoints of models whose calibration net is such an F.

    Returns:
        Weights of a model whose calibration net is their mean.
    """
    found = {}
    for index, path in enumerate(checkpoints):
        loaded = CheckpointLoader.load_checkpoint(str(path), 'cpu', None)
        for name, weight in loaded['state_dict'].items():
            if name.startswith(PREFIX):
                inner = name.removeprefix(PREFIX)
                found[f'{PREFIX}nets.{index}.{inner}'] = weight
    return found
