"""The base of every model that samples."""

import logging
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from mmengine.logging import MessageHub, print_log
from mmengine.optim import OptimWrapper
from mmengine.structures import PixelData
from mmseg.models.segmentors import BaseSegmentor
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor, nn

from ...sampling import NormalNoise, content_key
from ...sampling.kernels import class_argmax, gains_by_tiles, lay_out_weights
from ...structures import KeyOwners, floods, noise_key, without_padding
from ...utils.checks import at_least, one_of
from ...utils.errors import UserError
from ...utils.windows import Window, window_for
from ..data_preprocessor import StochasticDataPreProcessor
from .sample_maps import SampleMaps
from .settings import complete_test_cfg
from .training import (
    POLICIES,
    TrainBatch,
    check_finite,
    frozen,
    leave_out,
    look_at,
    norm_statistics,
)

# Probabilities below have no finite logarithm once they are rounded.
SMALLEST = torch.finfo(torch.float32).tiny
# Bytes that fit the second-level cache of a core.
CACHE = 2**21
# How often a sample that floods is drawn again; then it stays.
TRIES = 32


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
            see :meth:`window_for`;
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

    Attributes:
        one_hot: Whether `sample` is `sample_labels` in one-hot form.
        joint_samples: Whether a sample depends on the others of its image.
            Such a model draws all samples at once, whatever the chunks.
    """

    batch_class = TrainBatch
    one_hot = False
    joint_samples = False

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
        cfg = data_preprocessor
        if cfg is not None and cfg.get('type') == 'SegDataPreProcessor':
            # It takes the same arguments and does the same, for more fields.
            cfg = {**cfg, 'type': StochasticDataPreProcessor.__name__}
        super().__init__(cfg, init_cfg)
        if pretrained is not None:
            raise UserError(
                f'model.pretrained={pretrained!r}: set init_cfg of a part'
            )
        one_of(POLICIES, nonfinite=nonfinite)
        self.num_classes = num_classes
        self.noise = MODELS.build(noise or dict(type='NormalNoise'))
        self.test_cfg = complete_test_cfg(test_cfg, num_classes)
        self.nonfinite = nonfinite
        self.align_corners = align_corners
        self.ignore_index = ignore_index
        self._noise_owners = KeyOwners('the noise of')
        self._told = False  # that images share their noise
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

    def sample_labels(self, state: Any, z: Tensor) -> Tensor:
        """Draw label maps (s, B, H, W); a method may know a faster way."""
        return self.sample(state, z).argmax(dim=2)

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

    def window_for(self, inputs: Tensor) -> Window | None:
        """Size and stride of the windows to see images in; None: at once.

        Those of ``test_cfg``, else those of `utils.windows` for images that
        are too large. Whatever a method computes in windows it must stitch
        *before* sampling: one draw covers the whole image.
        """
        if self.test_cfg['mode'] == 'whole':
            return window_for(inputs)
        return self.test_cfg['crop_size'], self.test_cfg['stride']

    def draw_noise(
        self,
        inputs: Tensor,
        data_samples: Sequence | None,
        num_samples: int,
        seed: tuple[int, ...],
    ) -> Tensor:
        """Noise ``(S, B, *noise_shape)`` of seed and image only.

        An image is known by its `noise_key`; one without a name by its
        content, so that its place in the batch does not matter.
        """
        names = [self._name(sample) for sample in data_samples or ()]
        names = names or [''] * len(inputs)
        keys = [
            name or content_key(image)
            for name, image in zip(names, inputs, strict=True)
        ]
        shape = self.noise_shape((inputs.shape[-2], inputs.shape[-1]))
        return self.noise(keys, num_samples, shape, seed, inputs.device)

    def train_noise(self, batch: TrainBatch, num_samples: int) -> Tensor:
        """Noise of a training step, see `draw_noise`."""
        return self.draw_noise(
            batch.image, batch.data_samples, num_samples, batch.seed
        )

    def _name(self, data_sample: SegDataSample) -> str:
        """The key of an image's noise; names of a data set must differ."""
        key, path = noise_key(data_sample), data_sample.get('img_path')
        named = data_sample.get('sample_key') is not None
        if key and path and named:
            self._noise_owners.claim(key, path)
        elif key and path and not self._told:
            other = self._noise_owners.other(key, path)
            self._told = other is not None
            if other:
                print_log(
                    f'{other} and {path} share their noise, as paths that end '
                    'alike do: their samples are right, but not independent. '
                    'MultiAnnotatorDataset tells its images apart.',
                    logger='current',
                    level=logging.WARNING,
                )
        return key

    def test_step(
        self,
        data: dict,
        num_samples: int | None = None,
        seed: int | None = None,
    ) -> list[SegDataSample]:
        """Predict a batch of the data loader; see `predict`."""
        data = self.data_preprocessor(data, False)
        return self.predict(**data, num_samples=num_samples, seed=seed)

    @torch.no_grad()
    def predict(
        self,
        inputs: Tensor,
        data_samples: Sequence | None = None,
        num_samples: int | None = None,
        seed: int | None = None,
    ) -> list[SegDataSample]:
        """Predict the decision, its probabilities and S samples per image.

        The samples' probabilities never exist all at once at full size: they
        are reduced to label maps and a running sum, chunk by chunk.

        Args:
            inputs: Normalised images (B, C, H, W).
            data_samples: Their data samples, or None to make new ones.
            num_samples: Samples per image, S; that of ``test_cfg`` by
                default. Nothing of a call stays in the model, so that
                threads may share it.
            seed: Of the samples; that of ``test_cfg`` by default.

        Returns:
            The data samples with ``pred_sem_seg`` (1, h, w), ``seg_logits``
            (K, h, w), ``pred_samples`` (S, h, w) and ``sample_probs``
            (K, h, w), and what the method adds to them.
        """
        cfg = self.test_cfg
        kept = cfg['num_samples'] if num_samples is None else num_samples
        seed = cfg['seed'] if seed is None else seed
        number = cfg['support_points'] or kept
        at_least(1, num_samples=kept)
        at_least(kept, **{'model.test_cfg.support_points': number})
        state = self.encode(inputs, data_samples)
        z = self.draw_noise(inputs, data_samples, number, (seed,))
        outputs = list(data_samples or (SegDataSample() for _ in inputs))
        if cfg['max_class_area'] is not None:
            z = self._redraw_floods(state, z, inputs, outputs, seed)
        collect = partial(SampleMaps, self.num_classes, inputs)
        drawn = [collect(s.metainfo, self.align_corners) for s in outputs]
        for chunk in z.split(self.chunk_size(inputs, number)):
            draw = self.sample_labels if self.one_hot else self.sample
            maps = draw(state, chunk)
            for i, own in enumerate(drawn):
                add = own.add_labels if self.one_hot else own.add_probs
                add(maps[:, i])
            del maps  # not to be held while the next chunk is drawn
        log_probs = self.log_probs(state)
        extra = self.extra_predictions(state)
        for i, (sample, own) in enumerate(zip(outputs, drawn, strict=True)):
            logits = log_probs[i : i + 1]
            if own.resized:  # what is blended are probabilities
                logits = own.restore(logits.exp()).log()
            else:
                logits = own.restore(logits)
            logits = bounded_logs(logits)
            sample.set_data(
                dict(
                    pred_sem_seg=PixelData(data=class_argmax(logits).long()),
                    seg_logits=PixelData(data=logits[0]),
                    **own.fields(kept),
                    **{
                        key: PixelData(data=own.restore(maps[i : i + 1])[0])
                        for key, maps in extra.items()
                    },
                )
            )
        return outputs

    def chunk_size(self, inputs: Tensor, num_samples: int) -> int:
        """Samples to draw at once, as the config says or as fit the cache.

        Label maps alone need no chunks. Probabilities of a chunk should stay
        in the cache of a CPU, and within a small part of a GPU's memory.
        """
        if self.joint_samples:
            return num_samples
        if self.test_cfg['samples_per_chunk']:
            return self.test_cfg['samples_per_chunk']
        if self.one_hot:
            return num_samples
        budget = CACHE if inputs.device.type == 'cpu' else 2**28
        batch, _, height, width = inputs.shape
        sample = 4 * batch * self.num_classes * height * width
        return min(max(budget // sample, 1), num_samples)

    def _redraw_floods(
        self,
        state: Any,
        z: Tensor,
        inputs: Tensor,
        data_samples: Sequence[SegDataSample],
        seed: int,
    ) -> Tensor:
        """Noise (S, B, ...) without that of samples that flood the picture.

        A sample in which a class covers more than its ``max_class_area`` gets
        other noise, which follows from seed, image and its own place like the
        first: samples stay independent of each other, and fewer samples are
        the first of more.
        """
        areas = self.test_cfg['max_class_area']
        if self.joint_samples:
            raise UserError(
                f'model.test_cfg.max_class_area={areas}: samples with exact '
                'margins cannot be drawn again; set a floor of the sampler.'
            )
        largest = torch.tensor(areas).double()
        size = self.chunk_size(inputs, len(z))

        def flood(noise: Tensor) -> Tensor:
            """Which samples flood (s, B), a chunk of label maps at a time."""
            found = []
            for chunk in noise.split(size):
                maps = self.sample_labels(state, chunk).unbind(1)
                own = [
                    floods(without_padding(labels, sample.metainfo), largest)
                    for labels, sample in zip(maps, data_samples, strict=True)
                ]
                found.append(torch.stack(own, dim=1).cpu())
            return torch.cat(found)

        flooded, z = flood(z), z.clone()
        for attempt in range(1, TRIES + 1):
            rows = flooded.any(1)  # (S,)
            if not rows.any():
                break
            seeds, again = (seed, attempt), flooded.to(z.device)
            other = self.draw_noise(inputs, data_samples, len(z), seeds)
            z[again] = other[again]
            flooded[rows] &= flood(z[rows.to(z.device)])
        return z

    def train_step(
        self,
        data: dict,
        optim_wrapper: Mapping[str, OptimWrapper],
        learners: Mapping[str, Callable] | None = None,
    ) -> dict[str, float]:
        """Update each network for which there is an optimiser, in turn.

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
        networks = self.networks()
        for name, network in networks.items():
            network.train(name in optims)
            lay_out_weights(network)
        data = self.data_preprocessor(data, True)
        batch = self.train_batch(data['inputs'], data['data_samples'], seed)
        log: dict[str, float] = {}
        for name in networks:
            if name in optims:
                learn = (learners or {}).get(name, partial(self.losses, name))
                self._update(name, learn, batch, optims[name], log)
        return log

    def _update(
        self,
        name: str,
        learn: Callable[[TrainBatch], dict[str, Tensor]],
        batch: TrainBatch,
        optim: OptimWrapper,
        log: dict[str, float],
    ) -> None:
        """Update one network, the others held fixed."""
        networks = self.networks()
        others = [n for key, n in networks.items() if key != name]
        moving = [n for n in networks.values() if n.training]
        # NaN in a running mean would stay for good, also in that of a
        # network which another one learns through.
        skips = self.nonfinite == 'skip'
        buffers = [b for n in networks.values() if skips for b in n.buffers()]
        before = [buffer.clone() for buffer in buffers]
        # Until the backward pass is over: chunked samples are computed again
        # in it, and must meet the same networks.
        with frozen(others):
            with optim.optim_context(learn):
                values = learn(batch)
            losses = {k: v for k, v in values.items() if 'loss' in k}
            if not losses:
                raise UserError(
                    f'{name} is trained, but no loss of the model is for it: '
                    'add one, or take it out of train_cfg.phases.'
                )
            # One huge pixel makes a running variance infinite. A norm that
            # trains does not use it, one in eval mode would give its bias.
            checked = dict(losses)
            if kept := [b.flatten() for b in norm_statistics(moving)]:
                checked['running statistics'] = torch.cat(kept)
            finite, seen = look_at(checked, values)
            good = check_finite(finite, self.nonfinite, name)
            if good:
                optim.update_params(sum(losses.values()))
            else:
                for buffer, old in zip(buffers, before, strict=True):
                    buffer.copy_(old)
                leave_out(optim)
        log |= seen
        if skips:
            log['skipped'] = log.get('skipped', 0.0) + float(not good)

    def train_batch(
        self, inputs: Tensor, data_samples: Sequence, seed: tuple[int, ...]
    ) -> TrainBatch:
        """Put a batch into the form that `losses` takes."""
        return self.batch_class(
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


def bounded_logs(log_probs: Tensor) -> Tensor:
    """Log-probabilities, none below that of `SMALLEST`.

    They are not copied where that can be told without a wait for the device,
    and never written to: they may belong to the model.
    """
    least = math.log(SMALLEST)
    whole = log_probs.untyped_storage().nbytes() == log_probs.nbytes
    if whole and gains_by_tiles(log_probs.device) and log_probs.min() >= least:
        return log_probs
    return log_probs.clamp_min(least)
