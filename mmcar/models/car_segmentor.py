"""The segmentor that trains CAR's networks and predicts with them."""

from collections.abc import Callable, Sequence

from mmseg.models.segmentors import BaseSegmentor
from mmseg.registry import MODELS
from torch import Tensor, nn

from ..compat import swaps_channels
from ..engine.compiling import compile_networks
from ..engine.guards import POLICIES
from ..utils.checks import at_least, one_of
from ..utils.errors import UserError
from .car_head import build_part
from .car_training import CARTraining
from .predicting import attach_predictions

NETWORKS = ('calibration', 'generator', 'discriminator')
TRAIN_CFG = dict(num_samples=20, samples_per_chunk=None, soft_labels=False)
TEST_CFG = dict(mode='whole', num_samples=16, samples_per_chunk=8, seed=0)


@MODELS.register_module()
class CARSegmentor(CARTraining, BaseSegmentor):
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
            raise UserError(
                f'model.pretrained={pretrained!r} is not used here: set '
                'init_cfg or checkpoint of the part that has weights.'
            )
        self.train_cfg = self._complete('train_cfg', train_cfg, TRAIN_CFG)
        self.test_cfg = self._complete('test_cfg', test_cfg, TEST_CFG)
        one_of(POLICIES, nonfinite=nonfinite)
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
        self._check_ignore_index()
        self.discriminator_regularizers: list[Callable] = []
        self._tell_black_box_the_input_norm()
        compile_networks(self, compile)

    def _complete(self, key: str, cfg: dict | None, defaults: dict) -> dict:
        """Fill in defaults, refusing what could not work."""
        cfg = dict(cfg or {})
        unknown = set(cfg) - set(defaults)
        if unknown:
            raise UserError(
                f'model.{key} has unknown keys {sorted(unknown)}; '
                f'it takes {sorted(defaults)}.'
            )
        cfg = {**defaults, **cfg}
        at_least(1, **{f'model.{key}.num_samples': cfg['num_samples']})
        if cfg['samples_per_chunk'] is not None:
            name = f'model.{key}.samples_per_chunk'
            at_least(1, **{name: cfg['samples_per_chunk']})
        if cfg.get('mode', 'whole') != 'whole':
            raise UserError(
                f'model.{key}.mode={cfg["mode"]!r}: samples exist for whole '
                "images only, averaging windows would blur them; use 'whole'."
            )
        return cfg

    def _check_ignore_index(self) -> None:
        """Refuse a part that would take other pixels for unlabelled."""
        own = self.decode_head.ignore_index
        parts = (self.decode_head.calibration, self.loss_ce, *self.loss_cal)
        for part in parts:
            found = getattr(part, 'ignore_index', own)
            if found != own:
                raise UserError(
                    f'{type(part).__name__}.ignore_index={found}, but '
                    f'decode_head.ignore_index={own}: make them agree.'
                )

    def _tell_black_box_the_input_norm(self) -> None:
        black_box = self.decode_head.black_box
        if black_box is not None:
            own = self.data_preprocessor
            black_box.set_input_norm(
                getattr(own, 'mean', None),
                getattr(own, 'std', None),
                swaps_channels(own),
            )

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
