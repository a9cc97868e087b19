"""What methods share: a net of their own, or another model inside."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from mmengine.model import ModuleDict
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...sampling import NormalNoise
from ...utils.checks import at_least
from ...utils.errors import UserError
from ...utils.precision import log_mean
from ...utils.windows import stitch
from ..black_boxes.base import prior_of
from ..data_preprocessor import InputNorm
from ..parts import build_part
from ..segmentors.stochastic_segmentor import StochasticSegmentor
from ..segmentors.training import TrainBatch


class FeatureSegmentor(StochasticSegmentor):
    """Features of every pixel, from any net, and what a method adds.

    All that trains is one network, ``net``: the net that gives the features
    and the layers a method puts on top of them.

    Args:
        num_classes: Number of classes K.
        net: Config of the net that gives the features: any calibration net,
            as ``MMSegCalibration`` with a backbone and a decode head of
            MMSeg.
        features: Channels of the features, C.
        black_box: Config of a black box, whose probabilities the net sees
            beside the image; None for none.
        mean_samples: Draws whose mean stands for the pixelwise
            probabilities, which have no closed form.
        kwargs: See :class:`StochasticSegmentor`.
    """

    def __init__(
        self,
        num_classes: int,
        net: dict,
        features: int = 32,
        black_box: dict | None = None,
        mean_samples: int = 16,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_classes, **kwargs)
        at_least(1, features=features, mean_samples=mean_samples)
        self.black_box = MODELS.build(black_box) if black_box else None
        if self.black_box is not None:
            self.black_box.set_input_norm(InputNorm.of(self.data_preprocessor))
            net = {'black_box_classes': self.black_box.num_classes, **net}
        self.mean_samples = mean_samples
        self.net = ModuleDict(dict(features=build_part('net', net, features)))

    def networks(self) -> dict[str, nn.Module]:
        """One network."""
        return dict(net=self.net)

    def encode(
        self, inputs: Tensor, data_samples: Sequence | None = None
    ) -> Any:
        """See a batch as `state` says it."""
        prior = prior_of(self.black_box, inputs, data_samples)

        def see(image: Tensor, own: Tensor | None) -> Tensor:
            return self.net['features'](image, own).float()

        window = None if self.net.training else self.window_for(inputs)
        features = stitch(see, inputs, prior, window)
        beside = inputs if prior is None else torch.cat((inputs, prior), 1)
        return self.state(features, beside)

    @abstractmethod
    def state(self, features: Tensor, seen: Tensor) -> Sequence:
        """All of a batch that does not depend on noise.

        Args:
            features: Features (B, C, H, W) of every pixel; of large images
                the mean of the windows that see it.
            seen: Normalised images, and the black box's probabilities beside
                them, if there is one (B, channels, H, W).

        Returns:
            The state; its first element is a tensor (B, ..., H, W).
        """

    def log_probs(self, state: Sequence) -> Tensor:
        """Log of the mean probabilities (B, K, H, W) of fixed draws."""
        batch, *_, height, width = state[0].shape
        shape, device = self.noise_shape((height, width)), state[0].device
        z = NormalNoise()(['mean'], self.mean_samples, shape, 0, device)
        draws = z.expand(-1, batch, *shape).split(1)
        return log_mean(self.sample(state, one)[0] for one in draws)


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
            f'data_preprocessor: that of the model inside is {found}; leave '
            'this one out'
        )
    test_cfg = {**(cfg.get('test_cfg') or {}), **(test_cfg or {})}
    shared = dict(data_preprocessor=found or data_preprocessor)
    inner = MODELS.build({**cfg, **shared, 'test_cfg': test_cfg})
    if not isinstance(inner, StochasticSegmentor):
        raise UserError(f'type={cfg["type"]!r}: expected a model that samples')
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
