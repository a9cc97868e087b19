"""From a pipeline's results to the tensors a stochastic model takes."""

from collections.abc import Sequence

import numpy as np
import torch
from mmengine.structures import PixelData
from mmseg.datasets.transforms import PackSegInputs
from mmseg.registry import TRANSFORMS

from ...utils.errors import UserError
from ..image_files import DEEP_STEPS
from .loading import RAW_DTYPE

META_KEYS = (
    *PackSegInputs().meta_keys,
    *('class_flips', 'sample_key', 'black_box_cache'),
)


@TRANSFORMS.register_module()
class PackStochasticInputs(PackSegInputs):
    """``PackSegInputs`` that also packs annotators and black-box predictions.

    Adds to the data sample ``gt_sem_segs`` (A, H, W) uint8, if the maps of
    all annotators were kept, and ``black_box_probs`` (K, H, W) float32, if
    they were loaded, ``black_box_image`` (C, H, W) uint8, if it was kept; to
    its meta information the flip table and the sample key. Images that are
    not of 8 bits become float32.

    Models expect the range of 8-bit images, and their data preprocessors
    subtract means of that range. So an image of another type must have gone
    through ``WindowIntensity`` or ``NormalizePercentiles``.

    Args:
        meta_keys: Keys of the results that become meta information.
        raw_range: Let the values of the file pass, whatever their range: the
            model's data preprocessor has ``mean`` and ``std`` for them.
    """

    def __init__(
        self, meta_keys: Sequence[str] = META_KEYS, raw_range: bool = False
    ) -> None:
        super().__init__(meta_keys=tuple(meta_keys))
        self.raw_range = raw_range

    def transform(self, results: dict) -> dict:
        """Pack one image."""
        self._check_range(results)
        if results['img'].dtype != np.uint8:
            # Torch computes with few of NumPy's types.
            results['img'] = results['img'].astype(np.float32)
        packed = super().transform(results)
        sample = packed['data_samples']
        maps = self._fields(results, 'gt_seg_map_')
        if maps:
            sample.gt_sem_segs = PixelData(
                data=torch.from_numpy(np.stack(maps))
            )
        planes = self._fields(results, 'black_box_probs_')
        if planes:
            probs = np.stack(planes)  # (K, H, W)
            total = probs.sum(0)
            # Padding and rotation fill with 255 or 0: no prediction there.
            # Elsewhere, 8 bits or half precision leave sums slightly off one.
            known = np.abs(total - 1) < 0.5
            probs = probs / np.where(known, total, 1)
            probs = np.where(known, probs, np.float32(1 / len(probs)))
            sample.black_box_probs = PixelData(data=torch.from_numpy(probs))
        if 'black_box_image' in results:
            image = np.atleast_3d(results['black_box_image'])
            image = torch.from_numpy(image.transpose(2, 0, 1).copy())
            sample.black_box_image = PixelData(data=image)
        return packed

    def _check_range(self, results: dict) -> None:
        dtype = results['img'].dtype
        deep = dtype.kind in 'ui' and dtype != np.uint8
        raw = results.get(RAW_DTYPE, dtype.name if deep else None)
        if raw is not None and not self.raw_range:
            raise UserError(
                f'{results.get("img_path", "image")}: {raw} instead of 0 to '
                f'255; {DEEP_STEPS}, or set raw_range=True with mean and std'
            )

    @staticmethod
    def _fields(results: dict, prefix: str) -> list[np.ndarray]:
        keys = results.get('seg_fields', [])
        return [results[key] for key in keys if key.startswith(prefix)]
