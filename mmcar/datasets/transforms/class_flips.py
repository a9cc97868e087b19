"""Class flips, drawn once per image."""

from collections.abc import Sequence

from mmcv.transforms import BaseTransform
from mmseg.registry import TRANSFORMS

from ...structures import ClassFlips
from ...utils.errors import UserError


@TRANSFORMS.register_module()
class RandomClassFlips(BaseTransform):
    """Turn whole classes of an image into their twins at random.

    Each row of the table is drawn once per image, independently. Only
    ``gt_seg_map`` changes; kept annotators' maps stay as they are, and with
    ``class_flips`` in the meta information they say the label distribution.

    Required keys: ``gt_seg_map``, ``class_flips`` unless given as argument.
    Modified keys: ``gt_seg_map``, ``class_flips``.

    Args:
        class_flips: Rows (class id, twin id, probability); None takes the
            table of the data set.
    """

    def __init__(self, class_flips: Sequence[tuple] | None = None) -> None:
        self.class_flips = (
            None if class_flips is None else ClassFlips.parse(class_flips)
        )

    def transform(self, results: dict) -> dict:
        """Draw the flips of one image."""
        flips = self.class_flips
        if flips is None:
            if 'class_flips' not in results:
                raise UserError(
                    'RandomClassFlips has no table: give it class_flips=(('
                    'class id, twin id, probability), ...), or use a data set '
                    'with class_flips in its metainfo'
                )
            flips = ClassFlips.parse(results['class_flips'])
        results['class_flips'] = flips
        results['gt_seg_map'] = flips.draw(results['gt_seg_map'])
        return results
