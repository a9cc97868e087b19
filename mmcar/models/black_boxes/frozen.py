"""What black boxes share that predict, rather than being read from disk."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import torch
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample
from torch import Tensor

from ...structures import padding_of, without_padding
from ...utils.windows import Window, stitch, window_for
from ..data_preprocessor import InputNorm
from .base import BaseBlackBox
from .full_image import follow_image


class FrozenBlackBox(BaseBlackBox):
    """A frozen model that gives class probabilities.

    It is always in eval mode, has no trainable parameters and runs without
    gradients. Its weights are part of the state dict, so that a checkpoint of
    the model around it is complete.

    Args:
        num_classes: See :class:`BaseBlackBox`.
        one_hot: Likewise.
    """

    def __init__(self, num_classes: int, one_hot: bool = False) -> None:
        super().__init__(num_classes, one_hot)
        self.set_input_norm(InputNorm())

    @staticmethod
    @abstractmethod
    def identify(cfg: Mapping) -> dict[str, str]:
        """What B is, so that two are the same if and only if this agrees.

        Args:
            cfg: Its config.

        Returns:
            For readers, ``config`` and ``checkpoint``; to compare, the hashes
            ``model`` (all that decides but weights) and ``weights``.
        """

    @abstractmethod
    def predict_file(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Predict an image as it lies on disk.

        Args:
            image: (C, H, W) uint8, BGR.

        Returns:
            Probabilities (K_b, H, W) and the decision (1, H, W).
        """

    @abstractmethod
    def see(self, image: Tensor) -> Tensor:
        """Probabilities (B, K_b, H, W) of images without padding."""

    @property
    @abstractmethod
    def window(self) -> Window | None:
        """The windows in which it sees large images, if it has any."""

    @abstractmethod
    def set_window(self, window: Window) -> None:
        """See large images in these windows from now on."""

    def set_input_norm(self, norm: InputNorm) -> None:
        """Say how the images that arrive here have been normalised."""
        for name, neutral in (('mean', 0.0), ('std', 1.0)):
            given = getattr(norm, name)
            value = torch.as_tensor(
                neutral if given is None else given, dtype=torch.float32
            )
            # Not persistent: it belongs to the model around this one.
            self.register_buffer(
                f'input_{name}', value.view(-1, 1, 1).clone(), persistent=False
            )
        self.input_swapped = norm.swapped

    def pixels(self, image: Tensor, swapped: bool) -> Tensor:
        """Undo the outer normalisation.

        Args:
            image: As the model around B sees them, (B, C, H, W).
            swapped: Give colours as RGB, not BGR.

        Returns:
            What lies on disk, (B, C, H, W).
        """
        raw = exact(image * self.input_std + self.input_mean)
        swap = swapped != self.input_swapped and raw.shape[1] == 3
        return raw.flip(1) if swap else raw

    def predict(
        self, image: Tensor, data_samples: Sequence[SegDataSample] | None
    ) -> Tensor:
        """Class probabilities (B, K_b, H, W) of a batch (B, C, H, W).

        They come from the cache where the pipeline has loaded them. B sees
        the image as it lies on disk where the pipeline has kept it. Else B
        sees each image of the batch without the padding of the batch.
        """
        samples = list(data_samples or ())
        if any('black_box_cache' in s.metainfo for s in samples):
            cached = [self.read_cached(sample) for sample in samples]
            return torch.stack(cached).to(image)
        metas = [s.metainfo for s in samples] or [{}] * len(image)
        kept = bool(samples) and all('black_box_image' in s for s in samples)
        if not kept and not any(any(padding_of(meta)) for meta in metas):
            return self._see(image)
        size = len(image), self.num_classes, *image.shape[2:]
        probs = image.new_full(size, 1 / self.num_classes)
        for i, meta in enumerate(metas):
            inner = without_padding(image[i : i + 1], meta)
            if kept:
                own = self._predict_kept(samples[i], tuple(inner.shape[2:]))
            else:
                own = self._see(inner)[0]
            without_padding(probs[i], meta).copy_(own)
        return probs

    def _see(self, image: Tensor) -> Tensor:
        """As `see`, in windows where images are too large."""
        window = None if self.window else window_for(image)
        return stitch(lambda x, _: self.see(x), image, None, window)

    def _predict_kept(
        self, sample: SegDataSample, size: tuple[int, int]
    ) -> Tensor:
        """Probabilities (K_b, h, w) of the image that the pipeline kept.

        B's decision at the size of the file goes into the data sample, as
        ``black_box_sem_seg`` (1, H, W).
        """
        probs, decision = self.predict_file(sample.black_box_image.data)
        sample.black_box_sem_seg = PixelData(data=decision)
        return follow_image(probs, sample.metainfo, size)

    def train(self, mode: bool = True) -> 'FrozenBlackBox':
        """Stay in eval mode."""
        return super().train(False)

    def init_weights(self) -> None:
        """Keep the weights: they came with the checkpoint."""


def exact(raw: Tensor) -> Tensor:
    """Undo what normalising did to the last bits of 8-bit images."""
    rounded = raw.round()
    # Pixel by pixel: a look at the whole image would make a GPU wait.
    return torch.where((raw - rounded).abs() < 1e-4, rounded, raw)
