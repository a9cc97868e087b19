"""Calibrated Adversarial Refinement as a segmentor."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.checks import agree
from ...utils.errors import UserError
from ...utils.precision import full_precision
from ..data_preprocessor import InputNorm
from ..decode_heads.car_head import CARState
from ..losses.base import SampleBatch, SampleLosses
from ..losses.pixel_losses import PixelLosses
from ..parts import build_part
from .settings import complete
from .stochastic_segmentor import StochasticSegmentor
from .training import TrainBatch

TRAIN_CFG = dict(
    num_samples=20,
    samples_per_chunk=None,
    soft_labels=False,
    calibration_in_train_mode=False,
)


@dataclass
class CARBatch(TrainBatch):
    """A batch, with what networks earlier in the step leave for the others.

    Args:
        log_probs: F's log-probabilities (B, K, H, W), without gradient.
        fake: One of G's samples per image (B, K, H, W).
    """

    log_probs: Tensor | None = None
    fake: Tensor | None = None


@MODELS.register_module()
class CARSegmentor(StochasticSegmentor):
    """Owns what predicts (``decode_head``) and the discriminator.

    Args:
        decode_head: Config of the :class:`CARHead`.
        discriminator: Config of D; None for a model without an adversary.
        loss_pixels: What F learns from, one loss or several: ours, or any of
            MMSeg's such as ``CrossEntropyLoss`` or ``DiceLoss``.
        loss_samples: What ties G's samples to F or to the labels, one loss
            or several, e.g. ``CalibrationLoss``.
        loss_adv: Adversarial loss, of G and of D.
        train_cfg: ``num_samples`` M per image, ``samples_per_chunk`` (memory
            of one chunk only, with the gradients of all M; not for a G with
            batch norm), ``soft_labels`` (F learns the mean of all
            annotators, not one drawn label), ``calibration_in_train_mode``
            (while G learns, F's dropout is active and its norms take the
            statistics of the batch, as in the authors' code; else F is fixed).
        kwargs: Further arguments of :class:`StochasticSegmentor`.
    """

    batch_class = CARBatch

    def __init__(
        self,
        decode_head: dict,
        discriminator: dict | None = None,
        loss_pixels: dict | Sequence[dict] | None = None,
        loss_samples: dict | Sequence[dict] | None = None,
        loss_adv: dict | None = None,
        train_cfg: dict | None = None,
        **kwargs: Any,
    ) -> None:
        head = MODELS.build(decode_head)
        super().__init__(
            head.num_classes,
            align_corners=head.align_corners,
            ignore_index=head.ignore_index,
            **kwargs,
        )
        self.decode_head = head
        self.train_cfg = complete('train_cfg', train_cfg, TRAIN_CFG)
        self.discriminator = discriminator and build_part(
            'discriminator', discriminator, self.num_classes
        )
        self.loss_pixels = PixelLosses(
            loss_pixels or dict(type='LabelCrossEntropy'), self.ignore_index
        )
        if loss_samples is None:
            loss_samples = dict(type='CalibrationLoss')
        self.loss_samples = SampleLosses(loss_samples)
        self.loss_adv = MODELS.build(loss_adv or dict(type='AdversarialLoss'))
        if not hasattr(self.loss_adv, 'discriminator'):
            raise UserError(
                f'model.loss_adv={type(self.loss_adv).__name__}: no loss of D'
            )
        self.discriminator_regularizers: list[Callable] = []
        self._check_ignore_index()
        self._check_chunks()
        if head.black_box is not None:
            norm = InputNorm.of(self.data_preprocessor)
            head.black_box.set_input_norm(norm)

    def _check_ignore_index(self) -> None:
        """Refuse a part that would take other pixels for unlabelled."""
        own = self.ignore_index
        for part in (
            self.decode_head.calibration,
            *self.loss_pixels,
            *self.loss_samples,
        ):
            for key in ('ignore_index', 'ignore_label'):  # MMSeg's losses
                found = {
                    f'{type(part).__name__}.{key}': getattr(part, key, own)
                }
                agree({**found, 'decode_head.ignore_index': own})

    def _check_chunks(self) -> None:
        """Refuse chunks where they would change the gradients."""
        size = self.train_cfg['samples_per_chunk']
        if size and not self.decode_head.generator.independent_samples:
            raise UserError(
                f'model.train_cfg.samples_per_chunk={size}: batch norm or '
                'ranks in G take a chunk for all samples; leave it out'
            )

    def networks(self) -> dict[str, nn.Module]:
        """F, G and D, as far as they can be trained."""
        found = dict(
            calibration=self.decode_head.calibration,
            generator=self.decode_head.generator,
            discriminator=self.discriminator,
        )
        return {
            name: network
            for name, network in found.items()
            if network is not None
            and any(p.requires_grad for p in network.parameters())
        }

    def encode(
        self, inputs: Tensor, data_samples: Sequence | None = None
    ) -> CARState:
        """Run B, F and the part of G that needs no noise."""
        window = self.window_for(inputs)
        return self.decode_head.encode(inputs, data_samples, window)

    def log_probs(self, state: CARState) -> Tensor:
        """F's log-probabilities (B, K, H, W)."""
        return state.log_probs

    def noise_shape(self, size: tuple[int, int]) -> tuple[int, ...]:
        """One vector per sample, (d,)."""
        return (self.decode_head.generator.noise_size,)

    def sample(self, state: CARState, z: Tensor) -> Tensor:
        """Draw class probabilities (s, B, K, H, W)."""
        return self.decode_head.generator.sample(state.features, z)

    def sample_labels(self, state: CARState, z: Tensor) -> Tensor:
        """Draw label maps (s, B, H, W)."""
        return self.decode_head.generator.sample_labels(state.features, z)

    @property
    def joint_samples(self) -> bool:
        """Whether G's samples depend on each other."""
        return self.decode_head.generator.joint_samples

    @property
    def one_hot(self) -> bool:
        """Whether G's samples are one-hot."""
        return self.decode_head.generator.one_hot

    def extra_predictions(self, state: CARState) -> dict[str, Tensor]:
        """B's probabilities: calibration offsets are read where B is right."""
        return {} if state.prior is None else dict(black_box_probs=state.prior)

    def losses(self, name: str, batch: CARBatch) -> dict[str, Tensor]:
        """What F, G or D learns from."""
        return getattr(self, f'{name}_losses')(batch)

    def calibration_losses(self, batch: CARBatch) -> dict[str, Tensor]:
        """F against the drawn label, or against the mean of all annotators."""
        log_probs = self.decode_head.calibrate(batch.image, batch.data_samples)
        batch.log_probs = log_probs.detach()
        wants = self.train_cfg['soft_labels']
        soft = batch.label_distribution() if wants else None
        return self.loss_pixels(log_probs, batch.label, soft)

    def generator_losses(self, batch: CARBatch) -> dict[str, Tensor]:
        """Draw M samples per image and show them to D, chunk by chunk."""
        keep = 'samples' in self.loss_samples.needs

        def judge(probs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            kept = probs if keep else probs[:1].detach().clone()
            if self.discriminator is None:
                logits = probs.new_zeros(probs.shape[:2])
            else:
                maps = probs.flatten(0, 1)
                logits = self.discriminator(batch.image, maps, batch.mask)
                logits = logits.unflatten(0, probs.shape[:2])
            return probs.sum(dim=0), logits, kept  # logits (s, B, ...)

        number = self.train_cfg['num_samples']
        generator = self.decode_head.generator
        log_probs = self._fixed_log_probs(batch)
        features = generator.encode(batch.image, log_probs)
        z, at_once = self.train_noise(batch, number), 'samples_per_chunk'
        chunks = generator.consume_samples(
            features, z, judge, self.train_cfg[at_once]
        )
        sums, logits, kept = zip(*chunks, strict=True)
        batch.fake = kept[0][0].detach()
        every = kept[0] if len(kept) == 1 else torch.cat(kept)
        samples = SampleBatch(
            mean=sum(sums) / number,
            samples=every if keep else None,
            fake_logits=torch.cat(logits).float(),
            log_probs=log_probs,
            label=batch.label,
            labels=batch.labels(),
            posterior=generator.posterior(features),
            num_samples=number,
        )
        losses = self.loss_samples(samples)
        if self.discriminator is not None:
            losses['loss_adv'] = self.loss_adv(samples)
        return losses

    def discriminator_losses(self, batch: CARBatch) -> dict[str, Tensor]:
        """The drawn label against one fake per image."""
        fake = batch.fake
        if fake is None:
            generator = self.decode_head.generator
            # Ranks of one sample alone would say nothing about G.
            joint = generator.joint_samples
            number = self.train_cfg['num_samples'] if joint else 1
            with torch.no_grad():
                fake = generator(
                    batch.image,
                    self._fixed_log_probs(batch),
                    self.train_noise(batch, number),
                )[0]
        maps = torch.cat([batch.real, fake.to(batch.real.dtype)])
        both = self.discriminator(batch.image, maps, batch.mask)
        logits = both.float().chunk(2)  # of real and of fake maps
        with full_precision(both):
            losses = dict(loss_disc=self.loss_adv.discriminator(*logits))
        for regularize in self.discriminator_regularizers:
            inputs = batch.image, batch.real, batch.mask
            losses.update(regularize(self.discriminator, *inputs))
        return {**losses, 'd_acc': self.loss_adv.accuracy(*logits)}

    def _fixed_log_probs(self, batch: CARBatch) -> Tensor | None:
        """F's log-probabilities (B, K, H, W), if anybody needs them."""
        head = self.decode_head
        needed = 'log_probs' in self.loss_samples.needs
        needed |= head.generator.needs_calibration
        moves = self.train_cfg['calibration_in_train_mode']
        if batch.log_probs is None and needed:
            if head.calibration and moves:
                head.calibration.train()
            with torch.no_grad():
                batch.log_probs = head.calibrate(
                    batch.image, batch.data_samples
                )
        return batch.log_probs
