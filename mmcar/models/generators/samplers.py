"""Samplers of F: exact draws, on a net of their own, by ranks; controls."""

from collections.abc import Sequence
from typing import Any

import torch
from mmseg.registry import MODELS
from torch import Tensor
from typing_extensions import Unpack

from ...sampling import GumbelSettings, build_gumbel
from ...sampling.kernels import gumbel_from_normal
from ...sampling.margins import NOISE_SIZE, Margins
from ...utils.checks import agree, positive
from ...utils.precision import safe_log
from ...utils.windows import stitch, window_for
from ..parts import build_part
from .base import BaseGenerator


@MODELS.register_module()
class GumbelSampler(BaseGenerator):
    """Exact, coherent draws from F without any training.

    Every sample is ``argmax_k (log F_k + g_k)`` with Gumbel noise shared
    between pixels (:class:`SharedGumbel`), so the frequency of a class at a
    pixel is F's probability.

    Args:
        num_classes: Number of classes, K.
        temperature: 0 gives one-hot maps; above, a softmax around the same
            argmax, whose *mean* is F only in the limit.
        init_cfg: Initialisation config of MMEngine.
        correlation_length: None for one number per class and image, or the
            correlation length in pixels of a smooth field.
        num_features: Waves that make up a field.
        common: Share of a field's variance that all pixels have in common.
        floor: Classes (with ``groups``, groups of them) below this
            probability at a pixel are not drawn there: no sample floods the
            picture with what F holds for hardly possible. Frequencies differ
            from F by less than it per class.
        groups: Ids of classes that are names of one thing, as classes and
            their twins are: names are drawn once per image, what a pixel
            shows by the settings above (:class:`GroupedGumbel`).
    """

    def __init__(
        self,
        num_classes: int,
        temperature: float = 0.0,
        init_cfg: dict | list | None = None,
        **settings: Unpack[GumbelSettings],
    ) -> None:
        gumbel = build_gumbel(num_classes, **settings)
        super().__init__(gumbel.noise_size, temperature, init_cfg)
        self.num_classes = num_classes
        self.gumbel = gumbel

    def encode(self, image: Tensor, log_probs: Tensor) -> Tensor:
        """Return the ``log_probs`` (B, K, H, W) of what can be drawn."""
        return self.gumbel.likely(log_probs)

    def decode(self, features: Tensor, z: Tensor) -> Tensor:
        """Return perturbed log-probabilities (s, B, K, H, W)."""
        return self.gumbel.perturb(features, z)

    def sample_labels(self, features: Tensor, z: Tensor) -> Tensor:
        """Return label maps (s, B, H, W): the argmax of `decode`."""
        return self.gumbel.labels(features, z)


@MODELS.register_module()
class TunedSampler(GumbelSampler):
    """:class:`GumbelSampler` on a net of its own in place of F.

    F has learnt what each pixel is by cross entropy, pixel by pixel. Where
    that is the bottleneck, because F errs more than annotators differ, losses
    of whole samples (``EnergyLoss``, ``MatchingLoss``) train this net towards
    maps that score better. Give it F's config, and F's weights by
    ``net.init_cfg``: before its first step the sampler is the training-free
    one on F, with ``net_temperature`` as F's temperature. F itself does not
    change, nor what is reported of it: decision, mIoU, calibration.

    Samples of all noise vectors share one run of the net, so that training
    costs about as much as training F, whatever their number.

    Args:
        num_classes: Number of classes, K.
        net: Config of the net, any calibration net that sees the image only.
        net_temperature: Divides the net's logits.
        temperature: Divides the logits of samples, noise included. Losses
            have no gradient at 0, so it must be above.
        kwargs: Other arguments of :class:`GumbelSampler`.
    """

    needs_calibration = False
    # The net runs once, nothing but noise is added per sample.
    independent_samples = True

    def __init__(
        self,
        num_classes: int,
        net: dict,
        net_temperature: float = 1.0,
        temperature: float = 0.1,
        **kwargs: Any,
    ) -> None:
        positive(net_temperature=net_temperature, temperature=temperature)
        super().__init__(num_classes, temperature=temperature, **kwargs)
        self.net = build_part('generator.net', net, num_classes)
        seen = getattr(self.net, 'black_box_classes', 0)
        agree({'generator.net.black_box_classes': seen, 'what G sees': 0})
        self.net_temperature = net_temperature

    def encode(self, image: Tensor, log_probs: Tensor | None) -> Tensor:
        """Return the net's log-probabilities (B, K, H, W), whatever F's."""
        window = None if self.training else window_for(image)

        def log_probs_of(image: Tensor) -> Tensor:
            scaled = self.net(image).float() / self.net_temperature
            return scaled.log_softmax(dim=1)

        if window is not None:
            probs = stitch(
                lambda x, _: log_probs_of(x).exp(), image, None, window
            )
            return self.gumbel.likely(safe_log(probs))
        log_probs = log_probs_of(image)
        # What is left out would get no gradient, hence never come back.
        return log_probs if self.training else self.gumbel.likely(log_probs)


@MODELS.register_module()
class ArgmaxSampler(BaseGenerator):
    """The decision, again and again: no diversity at all.

    Args:
        num_classes: Number of classes K.
    """

    def __init__(self, num_classes: int) -> None:
        super().__init__(noise_size=1, temperature=0.0)
        self.num_classes = num_classes

    def encode(self, image: Tensor, log_probs: Tensor) -> Tensor:
        """There is nothing to encode: log_probs (B, K, H, W)."""
        return log_probs

    def decode(self, features: Tensor, z: Tensor) -> Tensor:
        """Logits (s, B, K, H, W), the same for every noise vector."""
        return features.expand(len(z), *features.shape)


@MODELS.register_module()
class IndependentPixelSampler(ArgmaxSampler):
    """Draws every pixel on its own: calibrated, but incoherent."""

    exportable = False

    def decode(self, features: Tensor, z: Tensor) -> Tensor:
        """Logits (s, B, K, H, W) with Gumbel noise of their own per pixel."""
        logits = super().decode(features, z).clone()
        for sample, vectors in zip(logits, z, strict=True):
            for image, vector in zip(sample, vectors, strict=True):
                # The noise vector is the seed, so that sampling stays pure.
                seed = int(vector.cpu().view(torch.int32)[0])
                random = torch.Generator().manual_seed(seed)
                normal = torch.randn(image.shape, generator=random)
                image += gumbel_from_normal(normal).to(image)
        return logits


# F's log-probabilities (B, K, H, W), and what gives the scores encoded.
RankedFeatures = tuple[Tensor, Any]


@MODELS.register_module()
class RankedGenerator(BaseGenerator):
    """Calibrated by construction: G gives scores, ranks give the margins.

    At every pixel, the order of the samples' scores decides which of them
    show a class, F how many of them: see :class:`Margins`. So D and the
    energy loss are G's only teachers, and a calibration loss has nothing left
    to do. All samples of an image are drawn at once.

    Samples proper are label maps. `sample` gives soft maps around them, which
    is what losses and D see.

    Args:
        num_classes: Number of classes, K.
        generator: Config of the generator of the scores.
        groups: See :class:`Margins`.
        temperature: Divides the distance of scores from the threshold in
            soft maps.
        init_cfg: Initialisation config of MMEngine.
    """

    joint_samples = True
    one_hot = True  # samples proper

    def __init__(
        self,
        num_classes: int,
        generator: dict,
        groups: Sequence[Sequence[int]] | None = None,
        temperature: float = 1.0,
        init_cfg: dict | list | None = None,
    ) -> None:
        positive(temperature=temperature)
        inner = build_part('generator.generator', generator, num_classes)
        super().__init__(inner.noise_size + NOISE_SIZE, temperature, init_cfg)
        self.num_classes = num_classes
        self.generator = inner
        self.margins = Margins(num_classes, groups)

    def encode(self, image: Tensor, log_probs: Tensor) -> RankedFeatures:
        """Run what needs no noise of the generator of the scores."""
        return log_probs, self.generator.encode(image, log_probs)

    def decode(self, features: RankedFeatures, z: Tensor) -> Tensor:
        """Return soft maps (S, B, K, H, W) of all samples (S, B, d)."""
        noise, own = z.tensor_split([NOISE_SIZE], dim=-1)
        log_probs, inner = features
        scores = self.generator.decode(inner, own)
        return self.margins.maps(scores, log_probs, noise, self._temperature)

    sample = decode  # soft maps in full precision

    def sample_labels(self, features: RankedFeatures, z: Tensor) -> Tensor:
        """Return label maps (S, B, H, W), scores one sample at a time."""
        noise, own = z.tensor_split([NOISE_SIZE], dim=-1)
        log_probs, inner = features
        scores = [self.generator.decode(inner, one) for one in own[:, None]]
        return self.margins.labels(torch.cat(scores), log_probs, noise)

    def posterior(
        self, features: RankedFeatures
    ) -> tuple[Tensor, Tensor] | None:
        """Return that of the generator of the scores."""
        return self.generator.posterior(features[1])
