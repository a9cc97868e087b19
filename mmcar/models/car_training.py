"""How CAR's networks are trained, each against the others held fixed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from mmengine.logging import MessageHub
from mmengine.optim import OptimWrapper
from torch import Tensor, nn

from ..engine.distributed import unwrap_model
from ..engine.guards import check_finite
from .losses import SampleBatch
from .train_batch import TrainBatch


@contextmanager
def _frozen(network: nn.Module | None) -> Iterator[None]:
    """Let gradients pass through a network without reaching its weights."""
    parameters = [] if network is None else network.parameters()
    trainable = [p for p in parameters if p.requires_grad]
    for parameter in trainable:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in trainable:
            parameter.requires_grad_(True)


class CARTraining:
    """The training half of :class:`CARSegmentor`.

    It uses the segmentor's ``decode_head``, ``discriminator``, losses and
    ``train_cfg``, and keeps nothing between two steps. Under mixed precision
    the networks run in it, the losses do not: they sum over many pixels.
    """

    def train_step(
        self, data: dict, optim_wrapper: Mapping[str, OptimWrapper]
    ) -> dict[str, Tensor]:
        """Update each network for which there is an optimiser.

        Args:
            data: A batch of the data loader.
            optim_wrapper: Optimisers by network name. Networks that are not
                named run in eval mode, without gradients, and do not change.

        Returns:
            What is logged.
        """
        optims = dict(optim_wrapper.items())
        for name, network in self.networks().items():
            network.train(name in optims)
        data = self.data_preprocessor(data, True)
        batch = self._batch(data['inputs'], data['data_samples'])
        log = {}
        log_probs = self._step_calibration(batch, optims, log)
        fake = None
        if 'generator' in optims:
            fake = self._step_generator(batch, log_probs, optims, log)
        if 'discriminator' in optims:
            self._step_discriminator(batch, log_probs, fake, optims, log)
        return log

    def _batch(self, inputs: Tensor, data_samples: Sequence) -> TrainBatch:
        return TrainBatch(
            inputs,
            data_samples,
            self.num_classes,
            self.decode_head.ignore_index,
        )

    def _train_noise(self, batch: TrainBatch, number: int) -> Tensor:
        """Noise that only depends on seed, iteration and each image."""
        hub = MessageHub.get_current_instance()
        seed = (hub.get_info('seed', 0), hub.get_info('iter', 0))
        return self.decode_head.draw_noise(
            batch.image, batch.data_samples, number, seed
        )

    def _calibration_loss(
        self, batch: TrainBatch, log_probs: Tensor
    ) -> Tensor:
        if self.train_cfg['soft_labels']:
            return self.loss_ce(log_probs, *batch.label_distribution())
        return self.loss_ce(log_probs, batch.label)

    def _step_calibration(
        self, batch: TrainBatch, optims: dict, log: dict
    ) -> Tensor | None:
        """Update F if asked; its log-probabilities if needed any further."""
        inputs = batch.image, batch.data_samples
        if 'calibration' in optims:
            optim = optims['calibration']
            with optim.optim_context(self.decode_head.calibration):
                log_probs = self.decode_head.calibrate(*inputs)
            losses = dict(loss_ce=self._calibration_loss(batch, log_probs))
            self._update(optim, losses, log)
            return log_probs.detach()
        others = optims.keys() & {'generator', 'discriminator'}
        if not others or not self._needs_calibration():
            return None
        with torch.no_grad():
            return self.decode_head.calibrate(*inputs)

    def _needs_calibration(self) -> bool:
        generator = unwrap_model(self.decode_head.generator)
        return generator.needs_calibration or any(
            getattr(loss, 'needs_calibration', True) for loss in self.loss_cal
        )

    def _step_generator(
        self, batch: TrainBatch, log_probs: Tensor, optims: dict, log: dict
    ) -> Tensor:
        """Update G with D fixed; one of its samples (B, K, H, W) per image."""
        optim = optims['generator']
        # D stays frozen until the backward pass is over: chunked samples are
        # computed again there, and must meet the same D.
        with _frozen(unwrap_model(self.discriminator)):
            with optim.optim_context(self.decode_head.generator):
                samples, fake = self._draw_samples(batch, log_probs)
            self._update(optim, self._generator_losses(samples), log)
        return fake

    def _generator_losses(self, samples: SampleBatch) -> dict[str, Tensor]:
        losses = {loss.loss_name: loss(samples) for loss in self.loss_cal}
        if self.discriminator is not None:
            losses['loss_adv'] = self.loss_adv(samples)
        return losses

    def _draw_samples(
        self, batch: TrainBatch, log_probs: Tensor
    ) -> tuple[SampleBatch, Tensor]:
        """Draw M samples per image and show them to D, chunk by chunk."""
        keep = any(loss.needs_samples for loss in self.loss_cal)

        def judge(probs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            kept = probs if keep else probs[:1].detach().clone()
            return probs.sum(dim=0), self._judge(batch, probs), kept

        number = self.train_cfg['num_samples']
        output = self.decode_head.generator(
            batch.image,
            log_probs,
            self._train_noise(batch, number),
            consume=judge,
            chunk_size=self.train_cfg['samples_per_chunk'],
        )
        sums, logits, kept = zip(*output.results, strict=True)
        samples = SampleBatch(
            mean=sum(sums) / number,
            samples=torch.cat(kept) if keep else None,
            fake_logits=torch.cat(logits).float(),
            log_probs=log_probs,
            label=batch.label,
            labels=batch.labels(),
            posterior=output.posterior,
            num_samples=number,
        )
        return samples, kept[0][0].detach()

    def _judge(self, batch: TrainBatch, probs: Tensor) -> Tensor:
        """D's logits (s, B, ...) of samples (s, B, K, H, W)."""
        if self.discriminator is None:
            return probs.new_zeros(probs.shape[:2])
        logits = unwrap_model(self.discriminator)(
            batch.image, probs.flatten(0, 1), batch.mask
        )
        return logits.unflatten(0, probs.shape[:2])

    def _step_discriminator(
        self,
        batch: TrainBatch,
        log_probs: Tensor,
        fake: Tensor | None,
        optims: dict,
        log: dict,
    ) -> None:
        """Update D on the drawn label against one fake per image."""
        if fake is None:
            with torch.no_grad():
                generator = unwrap_model(self.decode_head.generator)
                noise = self._train_noise(batch, 1)
                fake = generator(batch.image, log_probs, noise).results[0]
        optim = optims['discriminator']
        with optim.optim_context(self.discriminator):
            maps = torch.cat([batch.real, fake.to(batch.real.dtype)])
            logits = self.discriminator(batch.image, maps, batch.mask)
        logits = logits.float().chunk(2)  # of real and of fake maps
        losses = dict(loss_disc=self.loss_adv.discriminator(*logits))
        for regularize in self.discriminator_regularizers:
            inputs = batch.image, batch.real, batch.mask
            losses.update(regularize(self.discriminator, *inputs))
        self._update(optim, losses, log)
        log['d_acc'] = self.loss_adv.accuracy(*logits)

    def _update(self, optim: OptimWrapper, losses: dict, log: dict) -> None:
        """Step one optimiser, unless a loss says not to."""
        finite = check_finite(losses, self.nonfinite)
        if finite:
            optim.update_params(sum(losses.values()))
        log.update({key: loss.detach() for key, loss in losses.items()})
        if self.nonfinite == 'skip':
            log['skipped'] = log.get('skipped', 0.0) + float(not finite)

    def loss(self, inputs: Tensor, data_samples: Sequence) -> dict:
        """F's and G's losses without an update, as MMSeg defines ``loss``."""
        batch = self._batch(inputs, data_samples)
        log_probs = self.decode_head.calibrate(inputs, data_samples)
        losses = dict(loss_ce=self._calibration_loss(batch, log_probs))
        samples, _ = self._draw_samples(batch, log_probs.detach())
        return {**losses, **self._generator_losses(samples)}
