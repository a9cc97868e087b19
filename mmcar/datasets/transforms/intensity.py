"""From the values of a file, of any depth, to the range of 8-bit images."""

import numpy as np
from mmcv.transforms import BaseTransform
from mmseg.registry import TRANSFORMS

from ...utils.errors import UserError

# Key of the type that a file has, until its values are mapped to 0..255.
RAW_DTYPE = 'raw_dtype'


def claim_raw_values(results: dict, transform: str) -> np.ndarray:
    """Take the image of a pipeline, to map its values.

    Args:
        results: Of the pipeline; from here on the image counts as mapped.
        transform: Name of the transform that maps them, for errors.

    Returns:
        The image (H, W) or (H, W, C), as float64.

    Raises:
        UserError: Another transform has changed the type of the values: a
            colour transform before this one has clipped them to 8 bits.
    """
    image = results['img']
    raw = results.pop(RAW_DTYPE, image.dtype.name)
    if raw != image.dtype.name:
        raise UserError(
            f'{results.get("img_path", "image")}: {raw} in the file, but '
            f'{image.dtype} when {transform} sees it; put {transform} right '
            'behind LoadCheckedImage'
        )
    return image.astype(np.float64)


def map_window(image: np.ndarray, low: float, high: float) -> np.ndarray:
    """Map low..high to 0..255, float32; what lies outside is clipped."""
    scaled = (image - low) * (255 / (high - low))
    return scaled.clip(0, 255).astype(np.float32)


@TRANSFORMS.register_module()
class WindowIntensity(BaseTransform):
    """Map a window of values to 0..255, the same for every image.

    For values that mean something by themselves: Hounsfield units of CT
    (``low=-1000, high=400`` shows the lung), the range of a camera
    (``low=0, high=4095`` for 12 bits). Use it right behind
    ``LoadCheckedImage``; what follows sees float32 images in the range of
    8-bit ones, so means, standard deviations and colour transforms fit.

    Modified keys: ``img``.

    Args:
        low: Value that becomes 0; lower ones do too.
        high: Value that becomes 255; higher ones do too.
    """

    def __init__(self, low: float, high: float) -> None:
        if not low < high:
            raise UserError(
                f'WindowIntensity: low={low}, high={high}; expected low < high'
            )
        self.low, self.high = low, high

    def transform(self, results: dict) -> dict:
        """Map the image (H, W) or (H, W, C) to float32."""
        image = claim_raw_values(results, type(self).__name__)
        results['img'] = map_window(image, self.low, self.high)
        return results


@TRANSFORMS.register_module()
class NormalizePercentiles(BaseTransform):
    """Map the range between two percentiles of each image to 0..255.

    For values without a unit, such as those of microscopes and MR scanners,
    whose range differs from image to image. Each channel has its own range.
    A channel of one value becomes 0; one whose two percentiles are equal
    (few bright spots on black) is mapped from its smallest to its largest
    value. Use it right behind ``LoadCheckedImage``.

    Modified keys: ``img``.

    Args:
        lower: Percentile that becomes 0.
        upper: Percentile that becomes 255.
    """

    def __init__(self, lower: float = 0.5, upper: float = 99.5) -> None:
        # An upper one of 1 or less is a share that should be a percentage.
        if not 0 <= lower < upper <= 100 or upper <= 1:
            raise UserError(
                f'NormalizePercentiles: lower={lower}, upper={upper}; '
                'expected percentages 0 <= lower < upper <= 100, upper '
                'above 1'
            )
        self.lower, self.upper = lower, upper

    def transform(self, results: dict) -> dict:
        """Map the image (H, W) or (H, W, C) to float32."""
        image = claim_raw_values(results, type(self).__name__)
        channels = np.moveaxis(np.atleast_3d(image), -1, 0)
        mapped = np.stack([self._map(c) for c in channels], -1)
        results['img'] = mapped.reshape(image.shape)
        return results

    def _map(self, channel: np.ndarray) -> np.ndarray:
        low, high = np.percentile(channel, (self.lower, self.upper))
        if low == high:
            low, high = channel.min(), channel.max()
        if low == high:
            return np.zeros(channel.shape, np.float32)
        return map_window(channel, low, high)
