"""What F, G and D learn from: one function per network."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ...utils.precision import full_precision
from ..losses.base import SampleBatch
from .train_batch import TrainBatch

if TYPE_CHECKING:
    from .car_segmentor import CARSegmentor


@dataclass
class CARBatch(TrainBatch):
    """A batch, with what networks earlier in the step leave for the others.

    Args:
        log_probs: F's log-probabilities (B, K, H, W), without gradient.
        fake: One of G's samples per image (B, K, H, W).
    """

    log_probs: Tensor | None = None
    fake: Tensor | None = None


def calibration_losses(
    model: 'CARSegmentor', batch: CARBatch
) -> dict[str, Tensor]:
    """F against the drawn label, or against the mean of all annotators."""
    log_probs = model.decode_head.calibrate(batch.image, batch.data_samples)
    batch.log_probs = log_probs.detach()
    soft = None
    if model.train_cfg['soft_labels']:
        soft = batch.label_distribution()
    return model.loss_pixels(log_probs, batch.label, soft)


def generator_losses(
    model: 'CARSegmentor', batch: CARBatch
) -> dict[str, Tensor]:
    """Draw M samples per image and show them to D, chunk by chunk."""
    keep = 'samples' in model.loss_samples.needs

    def judge(probs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        kept = probs if keep else probs[:1].detach().clone()
        return probs.sum(dim=0), _judge(model, batch, probs), kept

    number = model.train_cfg['num_samples']
    log_probs = _fixed_log_probs(model, batch)
    output = model.decode_head.generator(
        batch.image,
        log_probs,
        _noise(model, batch, number),
        consume=judge,
        chunk_size=model.train_cfg['samples_per_chunk'],
    )
    sums, logits, kept = zip(*output.results, strict=True)
    batch.fake = kept[0][0].detach()
    samples = SampleBatch(
        mean=sum(sums) / number,
        samples=_joined(kept) if keep else None,
        fake_logits=torch.cat(logits).float(),
        log_probs=log_probs,
        label=batch.label,
        labels=batch.labels(),
        posterior=output.posterior,
        num_samples=number,
    )
    losses = model.loss_samples(samples)
    if model.discriminator is not None:
        losses['loss_adv'] = model.loss_adv(samples)
    return losses


def discriminator_losses(
    model: 'CARSegmentor', batch: CARBatch
) -> dict[str, Tensor]:
    """The drawn label against one fake per image."""
    fake = batch.fake
    if fake is None:
        with torch.no_grad():
            log_probs = _fixed_log_probs(model, batch)
            generator = model.decode_head.generator
            # Ranks of one sample alone would say nothing about G.
            joint = generator.joint_samples
            number = model.train_cfg['num_samples'] if joint else 1
            noise = _noise(model, batch, number)
            fake = generator(batch.image, log_probs, noise).results[0]
    maps = torch.cat([batch.real, fake.to(batch.real.dtype)])
    both = model.discriminator(batch.image, maps, batch.mask)
    logits = both.float().chunk(2)  # of real and of fake maps
    with full_precision(both):
        losses = dict(loss_disc=model.loss_adv.discriminator(*logits))
    for regularize in model.discriminator_regularizers:
        inputs = batch.image, batch.real, batch.mask
        losses.update(regularize(model.discriminator, *inputs))
    return {**losses, 'd_acc': model.loss_adv.accuracy(*logits)}


LOSSES: dict[str, Callable[['CARSegmentor', CARBatch], dict[str, Tensor]]] = {
    'calibration': calibration_losses,
    'generator': generator_losses,
    'discriminator': discriminator_losses,
}
"""By the name of the network that learns."""


def _fixed_log_probs(model: 'CARSegmentor', batch: CARBatch) -> Tensor | None:
    """F's log-probabilities (B, K, H, W), if anybody needs them."""
    needed = (
        model.decode_head.generator.needs_calibration
        or 'log_probs' in model.loss_samples.needs
    )
    if batch.log_probs is None and needed:
        calibration = model.decode_head.calibration
        if calibration and model.train_cfg['calibration_in_train_mode']:
            calibration.train()
        with torch.no_grad():
            batch.log_probs = model.decode_head.calibrate(
                batch.image, batch.data_samples
            )
    return batch.log_probs


def _joined(chunks: Sequence[Tensor]) -> Tensor:
    """All samples; a single chunk of them is not copied."""
    return chunks[0] if len(chunks) == 1 else torch.cat(chunks)


def _noise(model: 'CARSegmentor', batch: CARBatch, number: int) -> Tensor:
    return model.draw_noise(
        batch.image, batch.data_samples, number, batch.seed
    )


def _judge(model: 'CARSegmentor', batch: CARBatch, probs: Tensor) -> Tensor:
    """D's logits (s, B, ...) of samples (s, B, K, H, W)."""
    if model.discriminator is None:
        return probs.new_zeros(probs.shape[:2])
    maps = probs.flatten(0, 1)
    logits = model.discriminator(batch.image, maps, batch.mask)
    return logits.unflatten(0, probs.shape[:2])
