"""The segmentor that trains CAR's networks and predicts with them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from mmengine.logging import MessageHub
from mmengine.optim import OptimWrapper
from mmseg.models.segmentors import BaseSegmentor
from mmseg.registry import MODELS
from torch import Tensor, nn

from ..engine.compiling import compile_networks
from ..engine.guards import check_finite
from .car_head import build_part, unwrap
from .losses import SampleBatch
from .predicting import attach_predictions
from .train_batch import TrainBatch

NETWORKS = ('calibration', 'generator', 'discriminator')
TRAIN_CFG = dict(num_samples=20, samples_per_chunk=None, soft_labels=False)
TEST_CFG = dict(mode='whole', num_samples=16, samples_per_chunk=8, seed=0)


@contextmanager
def _frozen(network: nn.Module) -> Iterator[None]:
    """Let gradients pass through a network without reaching its weights."""
    trainable = [p for p in network.parameters() if p.requires_grad]
    for parameter in trainable:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in trainable:
            parameter.requires_grad_(True)


@MODELS.register_module()
class CARSegmentor(BaseSegmentor):
    """Owns the sampler (``decode_head``) and the discriminator.

    ``train_step`` updates exactly the networks whose optimiser it is handed;
    which ones that is at which iteration is the training loop's business.

    Args:
        decode_head: Config of the :class:`CARHead`.
        discriminator: Config of D; None for a model that is only tested.
        loss_ce: Loss of F.
        loss_adv: Adversarial loss, of G and of D.
        loss_cal: What ties G's samples to F or to the label: one loss or
            several, e.g. ``CalibrationLoss``.
        train_cfg: ``num_samples`` M per image, ``samples_per_chunk`` (memory
            of one chunk only, with the gradients of all M), ``soft_labels``
            (F learns the mean of all annotators, not one drawn label).
        test_cfg: ``num_samples``, ``samples_per_chunk``, ``seed`` of the
            noise.
        nonfinite: What a loss that is not finite does: ``'raise'`` or
            ``'skip'`` the step.
        compile: Names of networks to hand to ``torch.compile``.
        data_preprocessor: As in every MMSeg segmentor.
        pretrained: Accepted because MMSeg's ``init_model`` passes it; must be
            None.
        init_cfg: As in every MMEngine module.
    """

    def __init__(
        self,
        decode_head: dict,
        discriminator: dict | None = None,
        loss_ce: dict | None = None,
        loss_adv: dict | None = None,
        loss_cal: dict | Sequence[dict] | None = None,
        train_cfg: dict | None = None,
        test_cfg: dict | None = None,
        nonfinite: str = 'raise',
        compile: Sequence[str] = (),
        data_preprocessor: dict | None = None,
        pretrained: None = None,
        init_cfg: dict | None = None,
    ) -> None:
        super().__init__(data_preprocessor, init_cfg)
        if pretrained is not None:
            raise ValueError(
                f'model.pretrained={pretrained!r} is not used here: set '
                'init_cfg or checkpoint of the part that has weights.'
            )
        self.train_cfg = self._complete('train_cfg', train_cfg, TRAIN_CFG)
        self.test_cfg = self._complete('test_cfg', test_cfg, TEST_CFG)
        self.nonfinite = nonfinite
        self.decode_head = MODELS.build(decode_head)
        self.num_classes = self.decode_head.num_classes
        self.align_corners = self.decode_head.align_corners
        self.discriminator = None
        if discriminator is not None:
            self.discriminator = build_part(
                'discriminator', discriminator, self.num_classes
            )
        self.loss_ce = MODELS.build(loss_ce or dict(type='LabelCrossEntropy'))
        self.loss_adv = MODELS.build(loss_adv or dict(type='AdversarialLoss'))
        if loss_cal is None:
            loss_cal = dict(type='CalibrationLoss')
        if isinstance(loss_cal, dict):
            loss_cal = [loss_cal]
        self.loss_cal = nn.ModuleList(MODELS.build(cfg) for cfg in loss_cal)
        self.discriminator_regularizers: list[Callable] = []
        self._tell_black_box_the_input_norm()
        compile_networks(self, compile)

    def _complete(self, key: str, cfg: dict | None, defaults: dict) -> dict:
        """Fill in defaults, refusing what could not work."""
        cfg = dict(cfg or {})
        unknown = set(cfg) - set(defaults)
        if unknown:
            raise ValueError(
                f'model.{key} has unknown keys {sorted(unknown)}; '
                f'it takes {sorted(defaults)}.'
            )
        cfg = {**defaults, **cfg}
        for name in ('num_samples', 'samples_per_chunk'):
            if cfg[name] is not None and cfg[name] < 1:
                raise ValueError(
                    f'model.{key}.{name} must be at least 1, got {cfg[name]}.'
                )
        if cfg.get('mode', 'whole') != 'whole':
            raise ValueError(
                f'model.{key}.mode={cfg["mode"]!r}: samples exist for whole '
                "images only, averaging windows would blur them; use 'whole'."
            )
        return cfg

    def _tell_black_box_the_input_norm(self) -> None:
        black_box = self.decode_head.black_box
        if black_box is not None:
            own = self.data_preprocessor
            black_box.set_input_norm(
                getattr(own, 'mean', None),
                getattr(own, 'std', None),
                getattr(own, 'channel_conversion', False),
            )

    # ------------------------------------------------------------ networks
    def networks(self) -> dict[str, nn.Module]:
        """The trainable networks by name."""
        found = {name: getattr(self._owner(name), name) for name in NETWORKS}
        return {
            name: network
            for name, network in found.items()
            if network is not None
            and any(p.requires_grad for p in network.parameters())
        }

    def set_network(self, name: str, network: nn.Module) -> None:
        """Put a (wrapped) network in the place of the one of that name."""
        setattr(self._owner(name), name, network)

    def _owner(self, name: str) -> nn.Module:
        return self if name == 'discriminator' else self.decode_head

    # ------------------------------------------------------------ training
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
        """Update F if asked; its log-probabilities if anyone needs them."""
        inputs = batch.image, batch.data_samples
        if 'calibration' in optims:
            optim = optims['calibration']
            with optim.optim_context(self.decode_head.calibration):
                log_probs = self.decode_head.calibrate(*inputs)
                losses = dict(loss_ce=self._calibration_loss(batch, log_probs))
            self._update(optim, losses, log)
            return log_probs.detach()
        if optims.keys() & {'generator', 'discriminator'}:
            with torch.no_grad():
                return self.decode_head.calibrate(*inputs)
        return None

    def _step_generator(
        self, batch: TrainBatch, log_probs: Tensor, optims: dict, log: dict
    ) -> Tensor:
        """Update G with D fixed; one of its samples (B, K, H, W) per image."""
        optim = optims['generator']
        # D stays frozen until the backward pass is over: chunked samples are
        # computed again there, and must meet the same D.
        with _frozen(unwrap(self.discriminator)):
            with optim.optim_context(self.decode_head.generator):
                samples, fake = self._draw_samples(batch, log_probs)
                losses = self._generator_losses(samples)
            self._update(optim, losses, log)
        return fake

    def _generator_losses(self, samples: SampleBatch) -> dict[str, Tensor]:
        losses = {loss.loss_name: loss(samples) for loss in self.loss_cal}
        return dict(loss_adv=self.loss_adv(samples), **losses)

    def _draw_samples(
        self, batch: TrainBatch, log_probs: Tensor
    ) -> tuple[SampleBatch, Tensor]:
        """Draw M samples per image and show them to D, chunk by chunk."""
        discriminator = unwrap(self.discriminator)
        keep = any(loss.needs_samples for loss in self.loss_cal)

        def judge(probs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            count = len(probs)
            logits = discriminator(
                batch.image.repeat(count, 1, 1, 1),
                probs.flatten(0, 1),
                batch.mask.repeat(count, 1, 1, 1),
            ).unflatten(0, (count, -1))
            kept = probs if keep else probs[:1].detach()
            return probs.sum(dim=0), logits, kept

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
            fake_logits=torch.cat(logits),
            log_probs=log_probs,
            label=batch.label,
            labels=batch.labels(),
            posterior=output.posterior,
            num_samples=number,
        )
        return samples, kept[0][0].detach()

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
                generator = unwrap(self.decode_head.generator)
                noise = self._train_noise(batch, 1)
                fake = generator(batch.image, log_probs, noise).results[0]
        optim = optims['discriminator']
        with optim.optim_context(self.discriminator):
            count = len(batch.image)
            logits = self.discriminator(
                torch.cat([batch.image, batch.image]),
                torch.cat([batch.real, fake.to(batch.real.dtype)]),
                torch.cat([batch.mask, batch.mask]),
            )
            real_logits, fake_logits = logits[:count], logits[count:]
            losses = dict(
                loss_disc=self.loss_adv.discriminator(real_logits, fake_logits)
            )
        for regularize in self.discriminator_regularizers:
            losses.update(
                regularize(self.discriminator, batch.image, batch.real)
            )
        self._update(optim, losses, log)
        right = (real_logits > 0).float().mean()
        right = right + (fake_logits < 0).float().mean()
        log['d_acc'] = right.detach() / 2

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
        if self.discriminator is not None:
            samples, _ = self._draw_samples(batch, log_probs.detach())
            losses.update(self._generator_losses(samples))
        return losses

    # ---------------------------------------------------------- prediction
    def predict(
        self, inputs: Tensor, data_samples: Sequence | None = None
    ) -> list:
        """Predict the decision, F's probabilities and S samples per image."""
        return attach_predictions(
            self.decode_head, inputs, data_samples, self.test_cfg
        )

    def encode_decode(
        self, inputs: Tensor, batch_data_samples: Sequence | None = None
    ) -> Tensor:
        """F's log-probabilities (B, K, H, W)."""
        return self.decode_head.calibrate(inputs, batch_data_samples)

    def extract_feat(self, inputs: Tensor) -> Tensor:
        """F has no features to share: its log-probabilities (B, K, H, W)."""
        return self.encode_decode(inputs)

    def _forward(
        self, inputs: Tensor, data_samples: Sequence | None = None
    ) -> tuple[Tensor, Tensor]:
        """F's log-probabilities and the samples, see :class:`CARHead`."""
        cfg = self.test_cfg
        z = self.decode_head.draw_noise(
            inputs, data_samples, cfg['num_samples'], (cfg['seed'],)
        )
        return self.decode_head(inputs, z, data_samples)
