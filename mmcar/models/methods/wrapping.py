"""What models share that stand around others."""

from collections.abc import Sequence
from typing import Any

from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.errors import UserError
from ..segmentors.stochastic_segmentor import StochasticSegmentor
from ..segmentors.training import TrainBatch


def build_inner(
    cfg: dict, data_preprocessor: dict | None, test_cfg: dict | None
) -> StochasticSegmentor:
    """A model that stands inside another one, and sees what that one sees.

    Args:
        cfg: Its config.
        data_preprocessor: The outer model's; another one than the config's
            own is refused.
        test_cfg: The outer model's; what it leaves open, the config says.
    """
    found = cfg.get('data_preprocessor')
    if None not in (found, data_preprocessor) and found != data_preprocessor:
        raise UserError(
            f'data_preprocessor={data_preprocessor}, but that of the model '
            f'inside is {found}: leave it out.'
        )
    shared = dict(
        data_preprocessor=found or data_preprocessor,
        test_cfg={**(cfg.get('test_cfg') or {}), **(test_cfg or {})},
    )
    inner = MODELS.build({**cfg, **shared})
    if not isinstance(inner, StochasticSegmentor):
        raise UserError(
            f'type={cfg["type"]!r} does not sample: expected a model such as '
            'CARSegmentor.'
        )
    return inner


def settings_of(inner: StochasticSegmentor) -> dict[str, Any]:
    """What a model around another one takes over."""
    keys = ('num_classes', 'test_cfg', 'align_corners', 'ignore_index')
    return {key: getattr(inner, key) for key in keys}


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
        inner = build_inner(model, data_preprocessor, test_cfg)
        super().__init__(**settings_of(inner), **kwargs)
        self.data_preprocessor = inner.data_preprocessor
        self.model = inner

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
