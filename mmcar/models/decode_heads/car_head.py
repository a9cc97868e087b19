"""What CAR predicts with: black box, calibration net, generator in a row."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from mmengine.model import BaseModule
from mmseg.registry import MODELS
from torch import Tensor, nn

from ...utils.checks import agree, at_least
from ...utils.precision import safe_log
from ...utils.windows import Window, stitch
from ..black_boxes.base import prior_of
from ..calibration_nets.base import BaseCalibration
from ..calibration_nets.scaling import ProbabilityScaling
from ..parts import build_part
from ..weights import load_checkpoint


class CARState(NamedTuple):
    """All of an image that does not depend on noise.

    Attributes:
        log_probs: F's log-probabilities (B, K, H, W).
        prior: The black box's probabilities (B, K_b, H, W), if there is one.
        features: What the generator encoded.
    """

    log_probs: Tensor
    prior: Tensor | None
    features: Any


@MODELS.register_module()
class CARHead(BaseModule):
    """Image -> black box -> calibration net F -> generator G.

    F's class probabilities say *how often* a pixel belongs to a class; G turns
    them and noise into one coherent label map. Gradients of whatever happens
    to G's samples never reach F.

    It stands where MMSeg has a decode head, but takes the image: all three
    look at it, B by a backbone of its own.

    Args:
        num_classes: Number of classes K of the task.
        generator: Config of G, e.g. ``dict(type='RefinementUNet')``.
        calibration: Config of F. Without one, the black box's probabilities
            are taken as they are, which needs a black box of K classes.
        black_box: Config of B, or None: then F sees the image only.
        temperature: F's logits are divided by it: one number, or one per
            class. See :class:`ProbabilityScaling`, which also applies what
            ``tools/calibrate.py`` has put into a checkpoint.
        align_corners: As in MMSeg's decode heads, used to resize predictions.
        ignore_index: Id of unlabelled pixels.
        init_cfg: As in every MMEngine module.
    """

    def __init__(
        self,
        num_classes: int,
        generator: dict,
        calibration: dict | None = None,
        black_box: dict | None = None,
        temperature: float | Sequence[float] = 1.0,
        align_corners: bool = False,
        ignore_index: int = 255,
        init_cfg: dict | None = None,
    ) -> None:
        super().__init__(init_cfg)
        at_least(2, **{'decode_head.num_classes': num_classes})
        self.num_classes = num_classes
        self.align_corners = align_corners
        self.ignore_index = ignore_index
        self.black_box = None
        if black_box:  # it may be anybody's, who did not think of this
            self.black_box = MODELS.build(black_box).requires_grad_(False)
        self.calibration = self._build_calibration(calibration)
        self.generator = build_part('generator', generator, num_classes)
        self.scaling = ProbabilityScaling(num_classes, temperature)

    def init_weights(self) -> None:
        """Initialise, and refuse weights of another model that do not fit.

        MMEngine loads what fits of a ``Pretrained`` checkpoint and logs the
        rest, which would leave that part as random as it was.
        """
        super().init_weights()
        for path, module in self.named_modules():
            cfg = getattr(module, 'init_cfg', None)
            prefix = cfg.get('prefix') if isinstance(cfg, dict) else None
            if not (prefix or '').startswith('decode_head.'):
                continue
            name, prefix = cfg['checkpoint'], f'{prefix.removesuffix(".")}.'
            source = f'decode_head.{path}.init_cfg.checkpoint={name!r}'
            source = f'{source} with prefix={prefix!r}'
            load_checkpoint(module, name, source, prefix)

    def _build_calibration(self, cfg: dict | None) -> nn.Module | None:
        known = self.black_box.num_classes if self.black_box else 0
        if cfg is not None:
            cfg = {**(dict(black_box_classes=known) if known else {}), **cfg}
            return build_part('calibration', cfg, self.num_classes)
        found = {'classes of a black box without calibration': known}
        agree({**found, 'num_classes': self.num_classes})
        return None

    def calibrate(
        self,
        image: Tensor,
        data_samples: Sequence | None = None,
        prior: Tensor | None = None,
        window: Window | None = None,
    ) -> Tensor:
        """Run F, and B before it unless that has been done.

        Args:
            image: Normalised images (B, C, H, W).
            data_samples: Their data samples; some black boxes and nets need
                them (cached predictions, the known label distribution).
            prior: B's probabilities (B, K_b, H, W), where they are known.
            window: In which F sees the image; None: the whole image.

        Returns:
            F's log-probabilities (B, K, H, W).
        """
        if prior is None:
            prior = prior_of(self.black_box, image, data_samples)
        if self.calibration is None:
            assert prior is not None  # checked when this was built
            logits = safe_log(prior)
        elif window and isinstance(self.calibration, BaseCalibration):

            def see(x: Tensor, own: Tensor | None) -> Tensor:
                return self.scaling.log_probs(self.calibration(x, own)).exp()

            logits = safe_log(stitch(see, image, prior, window))
            return self.scaling(logits)
        else:
            logits = self.calibration(image, prior, data_samples)
        return self.scaling(self.scaling.log_probs(logits))

    def encode(
        self,
        image: Tensor,
        data_samples: Sequence | None = None,
        window: Window | None = None,
    ) -> CARState:
        """Compute all of a batch that does not depend on noise.

        Args:
            image: Normalised images (B, C, H, W).
            data_samples: Their data samples, where a part needs them.
            window: See :meth:`calibrate`.
        """
        prior = prior_of(self.black_box, image, data_samples)
        log_probs = self.calibrate(image, data_samples, prior, window)
        features = self.generator.encode(image, log_probs)
        return CARState(log_probs, prior, features)
