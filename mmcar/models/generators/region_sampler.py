"""Draws in which regions of the image vary on their own."""

import cv2
import numpy as np
import torch
from mmseg.registry import MODELS
from torch import Tensor

from ...utils.checks import at_least, fraction, not_negative, positive
from ...utils.errors import UserError
from .weighted_sampler import WeightedSampler


@MODELS.register_module()
class RegionSampler(WeightedSampler):
    """Training-free draws with noise of its own for every region.

    Regions are the connected parts of the image in which F is undecided: two
    lesions, or two borders, grow and shrink independently of each other, but
    for a common part. A pixel elsewhere belongs to the nearest of them, and
    regions blend where they meet. Frequencies are F's at every pixel.

    Args:
        num_classes: Number of classes, K.
        max_regions: Regions with numbers of their own. If there are more, the
            smallest share the last one's.
        undecided: A pixel is undecided where the most probable class leaves
            at least this probability to the others.
        border: Standard deviation in pixels by which regions blend.
        common: Share of the variance that all pixels have in common: 1 is
            one number per class and image.
        floor: Classes below this probability at a pixel are not drawn there.
        temperature: See :class:`WeightedSampler`.
    """

    exportable = False

    def __init__(
        self,
        num_classes: int,
        max_regions: int = 8,
        undecided: float = 0.05,
        border: float = 2.0,
        common: float = 0.0,
        floor: float = 0.0,
        temperature: float = 0.0,
    ) -> None:
        at_least(1, max_regions=max_regions)
        if not 0 <= common <= 1:
            raise UserError(f'common={common!r}: expected 0 <= common <= 1')
        not_negative(border=border)
        fraction(undecided=undecided)
        positive(undecided=undecided)
        super().__init__(num_classes, max_regions + 1, floor, temperature)
        self.max_regions, self.undecided = max_regions, undecided
        self.border, self.common = border, common

    def weights(self, image: Tensor, log_probs: Tensor) -> Tensor:
        """Square roots of how much each pixel belongs to each region."""
        open_ = 1 - log_probs.detach().amax(1).exp() >= self.undecided
        maps = [
            memberships(one, self.max_regions, self.border)
            for one in open_.cpu().numpy()
        ]
        shares = torch.from_numpy(np.stack(maps)).to(log_probs)
        own = (1 - self.common) * shares.clamp_min(0)
        common = torch.full_like(own[:, :1], self.common)
        return torch.cat((own, common), dim=1).sqrt()


def memberships(
    undecided: np.ndarray, max_regions: int, border: float
) -> np.ndarray:
    """How much each pixel belongs to each region.

    Args:
        undecided: Mask (H, W) whose connected parts are the regions.
        max_regions: Number of regions, R.
        border: Standard deviation of the blur between them, in pixels.

    Returns:
        Shares (R, H, W), float32; their sum is 1 at every pixel.
    """
    shares = np.zeros((max_regions, *undecided.shape), np.float32)
    if not undecided.any():
        shares[0] = 1
        return shares
    # Of each pixel the connected part of zeros that is nearest.
    _, nearest = cv2.distanceTransformWithLabels(
        (~undecided).astype(np.uint8),
        cv2.DIST_L2,
        cv2.DIST_MASK_5,
        labelType=cv2.DIST_LABEL_CCOMP,
    )
    sizes = np.bincount(nearest[undecided])
    order = np.argsort(-sizes, kind='stable')
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    region = np.minimum(rank[nearest], max_regions - 1)
    np.put_along_axis(shares, region[None], 1, axis=0)
    if border:
        for r in range(min(len(order), max_regions)):
            shares[r] = cv2.GaussianBlur(shares[r], (0, 0), border)
    return shares / shares.sum(0)
