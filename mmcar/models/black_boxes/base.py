"""What every black box B shares."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from mmengine.model import BaseModule
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor, nn

from ...structures import check_predicted
from ...utils.checks import agree
from ...utils.errors import UserError
from ..data_preprocessor import InputNorm


class BaseBlackBox(BaseModule):
    """A source of class probabilities that F takes as input.

    Args:
        num_classes: Number of classes of the predictions, K_b.
        one_hot: Hand over B's decision, one-hot, in place of its
            probabilities.
    """

    def __init__(self, num_classes: int, one_hot: bool = False) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.one_hot = one_hot

    def set_input_norm(self, norm: InputNorm) -> None:
        """Say how the images that arrive here have been normalised."""

    @abstractmethod
    def predict(
        self, image: Tensor, data_samples: Sequence[SegDataSample] | None
    ) -> Tensor:
        """Class probabilities (B, K_b, H, W) of a batch (B, C, H, W)."""

    @torch.no_grad()
    def forward(
        self,
        image: Tensor,
        data_samples: Sequence[SegDataSample] | None = None,
    ) -> Tensor:
        """Predict class probabilities.

        Args:
            image: Images as the model around B sees them, (B, C, H, W).
            data_samples: B data samples. Their metainfo says how images
                were padded; some carry predictions or the image on disk.

        Returns:
            (B, K_b, H, W); where an image was padded, all classes are
            equally likely.
        """
        probs = self.predict(image, data_samples)
        return decisions(probs) if self.one_hot else probs

    def read_cached(self, sample: SegDataSample) -> Tensor:
        """The predictions (K_b, H, W) that the pipeline loaded."""
        name = sample.metainfo.get('img_path', 'an image')
        if 'black_box_probs' not in sample:
            raise UserError(
                f'{name}: no black_box_probs; LoadBlackBoxProbs reads them'
            )
        cache = sample.metainfo.get('black_box_cache')
        if cache == 'labels' and not self.one_hot:
            raise UserError(
                "LoadBlackBoxProbs(form='labels') gives B's decisions: set "
                "black_box.one_hot=True, or form='probs'."
            )
        probs = sample.black_box_probs.data
        found = {f'classes predicted for {name}': len(probs)}
        agree({'black_box.num_classes': self.num_classes, **found})
        return probs


@MODELS.register_module()
class CachedBlackBox(BaseBlackBox):
    """Predictions of any model, read from disk by the data pipeline.

    For models that are not MMSeg's. Those of MMSeg are a ``BlackBox``, which
    reads cached predictions where the pipeline has loaded them.

    Args:
        num_classes: Number of classes of the predictions, K_b.
        one_hot: See :class:`BaseBlackBox`.
    """

    def predict(
        self, image: Tensor, data_samples: Sequence[SegDataSample] | None
    ) -> Tensor:
        """Collect the predictions (B, K_b, H, W) of a batch (B, C, H, W).

        The data preprocessor has brought them to the size of the images.
        """
        if data_samples is None:
            raise UserError('CachedBlackBox needs data samples, got None.')
        probs = [self.read_cached(sample) for sample in data_samples]
        return torch.stack(probs).to(image)


def prior_of(
    black_box: BaseBlackBox | None,
    image: Tensor,
    data_samples: Sequence[SegDataSample] | None = None,
) -> Tensor | None:
    """B's probabilities (B, K_b, H, W); None where there is no black box."""
    return None if black_box is None else black_box(image, data_samples)


def check_black_boxes(model: nn.Module, metainfo: Mapping | None) -> None:
    """Refuse black boxes for other classes than those of a data set.

    Args:
        model: With black boxes anywhere in it, or none.
        metainfo: Of the data set, see :func:`check_predicted`.
    """
    for path, module in model.named_modules():
        if isinstance(module, BaseBlackBox):
            check_predicted(module.num_classes, metainfo, f'model.{path}')


def decisions(probs: Tensor) -> Tensor:
    """One-hot form (B, K, H, W) of probabilities; uniform ones stay."""
    classes = probs.shape[1]
    best, ids = probs.max(dim=1, keepdim=True)
    hot = F.one_hot(ids[:, 0], classes).movedim(-1, 1).to(probs)
    # Where nothing was predicted, e.g. in padding, there is no decision.
    return torch.where(best > 1 / classes + 1e-6, hot, probs)
