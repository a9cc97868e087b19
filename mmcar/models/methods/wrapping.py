"""What models share that stand around another one."""

from collections.abc import Sequence
from typing import Any

from mmseg.registry import MODELS
from torch import Tensor, nn

from ..segmentors.stochastic_segmentor import StochasticSegmentor
from ..segmentors.train_batch import TrainBatch


class WrappedSegmentor(StochasticSegmentor):
    """Has a model inside, whose networks train as they would alone.

    Args:
        model: Config of the model, any that samples.
        data_preprocessor: That of the model by default.
        test_cfg: That of the model by default, which gets the same.
        kwargs: Further arguments of :class:`StochasticSegmentor`.
    """

    def __init__(
        self,
        model: dict,
        data_preprocessor: dict | None = None,
        test_cfg: dict | None = None,
        **kwargs: Any,
    ) -> None:
        given = dict(data_preprocessor=data_preprocessor, test_cfg=test_cfg)
        given = {key: cfg for key, cfg in given.items() if cfg is not None}
        inner = MODELS.build({**model, **given})
        super().__init__(
            inner.num_classes,
            test_cfg=inner.test_cfg,
            align_corners=inner.align_corners,
            ignore_index=inner.ignore_index,
            **kwargs,
        )
        self.data_preprocessor = inner.data_preprocessor
        self.model = inner

    def encode(
        self, inputs: Tensor, data_samples: Sequence | None = None
    ) -> Any:
        """The model's state."""
        return self.model.encode(inputs, data_samples)

    def log_probs(self, state: Any) -> Tensor:
        """The model's log-probabilities (B, K, H, W)."""
        return self.model.log_probs(state)

    def extra_predictions(self, state: Any) -> dict[str, Tensor]:
        """The model's."""
        return self.model.extra_predictions(state)

    def networks(self) -> dict[str, nn.Module]:
        """The model's networks."""
        return self.model.networks()

    def train_batch(
        self, inputs: Tensor, data_samples: Sequence, seed: tuple[int, ...]
    ) -> TrainBatch:
        """The model's batch."""
        return self.model.train_batch(inputs, data_samples, seed)

    def losses(self, name: str, batch: TrainBatch) -> dict[str, Tensor]:
        """The model's losses."""
        return self.model.losses(name, batch)
