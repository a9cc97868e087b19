"""The base of every model that samples."""

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from mmengine.logging import MessageHub
from mmengine.optim import OptimWrapper
from mmseg.models.segmentors import BaseSegmentor
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor, nn

from ...sampling.kernels.memory_format import lay_out_weights
from ...sampling.noise import NormalNoise
from ...structures import KeyOwners, sample_key
from ...utils.checks import one_of
from ...utils.errors import UserError
from ...utils.finite import POLICIES
from ..data_preprocessor import (
    StochasticDataPreProcessor,
    with_stochastic_preprocessor,
)
from .predicting import attach_predictions
from .settings import check_shares, complete_test_cfg
from .train_batch import TrainBatch
from .updating import update_networks


class StochasticSegmentor(BaseSegmentor):
    """A segmentation model that draws label maps, as many as asked for.

    A method says what an image looks like without noise (`encode`), its
    pixelwise probabilities (`log_probs`), what noise it takes
    (`noise_shape`), how noise becomes a label map (`sample`), which networks
    train (`networks`) and what each of them learns from (`losses`). This
    class does the rest: noise by seed and image, chunks of samples, original
    sizes, predictions in MMSeg's form, updates of the networks in turn.

    Shapes: B images, K classes, s or S samples per image.

    Args:
        num_classes: Number of classes K.
        noise: Config of the source of noise; independent normal numbers by
            default.
        test_cfg: ``num_samples`` S; ``samples_per_chunk``, drawn at once
            (None: as many as fit the cache); ``seed`` of the noise;
            ``mode='slide'`` with ``crop_size`` and ``stride`` for windows,
            see :attr:`window`; ``compile``, for methods that can;
            ``support_points``, draws of which the ``num_samples`` are kept
            that stand for all best (fewer, better samples, but not
            independent ones); ``max_class_area``, the share of the image
            that each class may cover at most: a sample in which one covers
            more is drawn again.
        nonfinite: What a loss that is not finite does: ``'raise'`` or
            ``'skip'`` the step.
        align_corners: How predictions are resized.
        ignore_index: Id of unlabelled pixels.
        data_preprocessor: As in every MMSeg segmentor.
        pretrained: Accepted because MMSeg's ``init_model`` passes it; must be
            None.
        init_cfg: As in every MMEngine module.
    """

    def __init__(
        self,
        num_classes: int,
        noise: dict | None = None,
        test_cfg: dict | None = None,
        nonfinite: str = 'raise',
        align_corners: bool = False,
        ignore_index: int = 255,
        data_preprocessor: dict | None = None,
        pretrained: None = None,
        init_cfg: dict | None = None,
    ) -> None:
        super().__init__(
            with_stochastic_preprocessor(data_preprocessor), init_cfg
        )
        if pretrained is not None:
            raise UserError(
                f'model.pretrained={pretrained!r} is not used here: set '
                'init_cfg or checkpoint of the part that has weights.'
            )
        one_of(POLICIES, nonfinite=nonfinite)
        self.num_classes = num_classes
        self.noise = MODELS.build(noise or dict(type='NormalNoise'))
        self.test_cfg = complete_test_cfg(test_cfg)
        check_shares(self.test_cfg['max_class_area'], num_classes)
        self.nonfinite = nonfinite
        self.align_corners = align_corners
        self.ignore_index = ignore_index
        self._noise_owners = KeyOwners('the noise of')
        #: Of data sets that do not name their images; tools know them.
        self.data_roots: tuple[str, ...] = ()
        if isinstance(self.data_preprocessor, StochasticDataPreProcessor):
            self.data_preprocessor.expect_labels(num_classes, ignore_index)

    @abstractmethod
    def encode(
        self, inputs: Tensor, data_samples: Sequence | None = None
    ) -> Any:
        """Compute all that does not depend on noise, once per image.

        Args:
            inputs: Normalised images (B, C, H, W).
            data_samples: Their data samples, or None.

        Returns:
            The state, for `log_probs`, `sample` and `sample_labels`.
        """

    @abstractmethod
    def log_probs(self, state: Any) -> Tensor:
        """Pixelwise log-probabilities (B, K, H, W) of the classes."""

    @abstractmethod
    def noise_shape(self, size: tuple[int, int]) -> tuple[int, ...]:
        """Shape of one sample's noise for images of a height and width."""

    @abstractmethod
    def sample(self, state: Any, z: Tensor) -> Tensor:
        """Draw class probabilities (s, B, K, H, W), nearly one-hot.

        Args:
            state: What `encode` returned.
            z: Standard normal noise ``(s, B, *noise_shape)``.
        """

    @property
    def draws_by_rows(self) -> bool:
        """Whether `sample_rows` takes less memory than `sample`."""
        return False

    def sample_rows(self, state: Any, z: Tensor, rows: slice) -> Tensor:
        """Draw some rows (s, B, K, h, W) of what `sample` draws."""
        return self.sample(state, z)[..., rows, :]

    def sample_labels(self, state: Any, z: Tensor) -> Tensor:
        """Draw label maps (s, B, H, W); a method may know a faster way."""
        return self.sample(state, z).argmax(dim=2)

    @property
    def one_hot(self) -> bool:
        """Whether `sample` is `sample_labels` in one-hot form."""
        return False

    @property
    def joint_samples(self) -> bool:
        """Whether a sample depends on the others of its image.

        Such a model draws all samples at once, whatever the chunks.
        """
        return False

    @property
    def draws_independently(self) -> bool:
        """Whether samples of an image are independent of each other.

        Figures of others do not compare with the literature.
        """
        independent = isinstance(self.noise, NormalNoise)
        all_kept = self.test_cfg['support_points'] is None
        return independent and all_kept and not self.joint_samples

    def extra_predictions(self, state: Any) -> dict[str, Tensor]:
        """More maps (B, C, H, W) for the data samples, by field."""
        return {}

    @abstractmethod
    def networks(self) -> dict[str, nn.Module]:
        """The networks that can be trained, in the order of a step."""

    @abstractmethod
    def losses(self, name: str, batch: TrainBatch) -> dict[str, Tensor]:
        """What one network learns from, the others held fixed.

        Args:
            name: Name of the network.
            batch: The training batch. What networks earlier in the same step
                have computed may be kept in it.

        Returns:
            As in MMEngine: values whose key contains 'loss' are added up and
            minimised, the others are logged.
        """

    @property
    def window(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Size and stride of the windows to see large images in, if any.

        Whatever a method computes in windows it must stitch *before*
        sampling: one draw covers the whole image.
        """
        if self.test_cfg['mode'] == 'whole':
            return None
        return self.test_cfg['crop_size'], self.test_cfg['stride']

    def draw_noise(
        self,
        inputs: Tensor,
        data_samples: Sequence | None,
        num_samples: int,
        seed: tuple[int, ...],
    ) -> Tensor:
        """Noise ``(S, B, *noise_shape)`` of seed and image only.

        An image is known by its `sample_key`; one without a name by its
        content, so that its place in the batch does not matter. Two images
        of the same key are refused.
        """
        names = [self._name(sample) for sample in data_samples or ()]
        names = names or [''] * len(inputs)
        keys = [
            name or content_key(image)
            for name, image in zip(names, inputs, strict=True)
        ]
        shape = self.noise_shape((inputs.shape[-2], inputs.shape[-1]))
        return self.noise(keys, num_samples, shape, seed, inputs.device)

    def _name(self, data_sample: SegDataSample) -> str:
        key = sample_key(data_sample, self.data_roots)
        path = data_sample.get('img_path')
        if key and path:
            self._noise_owners.claim(key, path)
        return key

    def predict(
        self, inputs: Tensor, data_samples: Sequence | None = None
    ) -> list[SegDataSample]:
        """Predict the decision, its probabilities and S samples per image."""
        return attach_predictions(self, inputs, data_samples)

    def train_step(
        self,
        data: dict,
        optim_wrapper: Mapping[str, OptimWrapper],
        learners: Mapping[str, Callable] | None = None,
    ) -> dict[str, float]:
        """Update each network for which there is an optimiser.

        Args:
            data: A batch of the data loader.
            optim_wrapper: Optimisers by network name. Networks that are not
                named run in eval mode, without gradients, and do not change.
            learners: Stand-ins for ``losses`` by network name, called with
                the batch: distributed wrappers around it.

        Returns:
            What is logged.
        """
        hub = MessageHub.get_current_instance()
        seed = (hub.get_info('seed', 0), hub.get_info('iter', 0))
        optims = dict(optim_wrapper.items())
        for name, network in self.networks().items():
            if network.training != (name in optims):  # a walk of its own
                network.train(name in optims)
            lay_out_weights(network)
        data = self.data_preprocessor(data, True)
        batch = self.train_batch(data['inputs'], data['data_samples'], seed)
        return update_networks(self, batch, optims, learners or {})

    def train_batch(
        self, inputs: Tensor, data_samples: Sequence, seed: tuple[int, ...]
    ) -> TrainBatch:
        """Put a batch into the form that `losses` takes."""
        return TrainBatch(
            inputs, data_samples, self.num_classes, self.ignore_index, seed
        )

    def loss(self, inputs: Tensor, data_samples: Sequence) -> dict:
        """Losses of all networks without an update, as MMSeg wants it."""
        batch = self.train_batch(inputs, data_samples, (0,))
        losses: dict[str, Tensor] = {}
        for name in self.networks():
            losses |= self.losses(name, batch)
        return losses

    def encode_decode(
        self, inputs: Tensor, batch_data_samples: Sequence | None = None
    ) -> Tensor:
        """Pixelwise log-probabilities (B, K, H, W), as MMSeg wants them."""
        return self.log_probs(self.encode(inputs, batch_data_samples))

    def extract_feat(self, inputs: Tensor) -> Any:
        """The state of a batch."""
        return self.encode(inputs)

    def _forward(
        self, inputs: Tensor, data_samples: Sequence | None = None
    ) -> tuple[Tensor, Tensor]:
        """Log-probabilities (B, K, H, W) and samples (S, B, K, H, W)."""
        state = self.encode(inputs, data_samples)
        number, seed = self.test_cfg['num_samples'], (self.test_cfg['seed'],)
        z = self.draw_noise(inputs, data_samples, number, seed)
        return self.log_probs(state), self.sample(state, z)


def content_key(image: Tensor) -> str:
    """A key of an image without a name, from its pixels (C, H, W)."""
    pixels = image.detach().to('cpu', torch.float32).numpy()
    return hashlib.sha256(pixels.tobytes()).hexdigest()
