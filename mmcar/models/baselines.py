"""Controls: simple samplers for the same F, and the best F for a B."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from mmengine.model import BaseModule
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor

from ..structures import class_flips_of
from ..utils.errors import UserError
from .generators import BaseGenerator
from .gumbel import gumbel_from_normal


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


@MODELS.register_module()
class FlippedDecision(BaseModule):
    """In place of F: the black box's decision, with the known class flips.

    What a model would predict that knows the flip table and nothing better
    than its black box: the bound for everything on top of that black box.
    The table is the one that the data set gives to its images.

    Args:
        num_classes: Number of classes K, twins included.
        black_box_classes: Classes of the black box, the first of the K.
    """

    def __init__(self, num_classes: int, black_box_classes: int) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.black_box_classes = black_box_classes

    def forward(
        self,
        image: Tensor,
        black_box_probs: Tensor,
        data_samples: Sequence[SegDataSample] | None = None,
    ) -> Tensor:
        """Log-probabilities (B, K, H, W), 0 or a flip's or about -inf.

        Args:
            image: Ignored.
            black_box_probs: Class probabilities (B, K_b, H, W).
            data_samples: Carry the table of class flips of each image.
        """
        tables = [class_flips_of(sample) for sample in data_samples or ()]
        if not tables or not all(tables):
            raise UserError(
                'FlippedDecision needs data samples with class_flips: use a '
                'data set whose metainfo has them'
            )
        decision = black_box_probs.argmax(dim=1)
        one_hot = F.one_hot(decision, self.num_classes).movedim(3, 1).float()
        probs = [t.apply(p) for t, p in zip(tables, one_hot, strict=True)]
        probs = torch.stack(probs)
        return probs.clamp_min(torch.finfo(probs.dtype).tiny).log()
