"""From a pipeline's results to the tensors a stochastic model takes."""

from collections.abc import Sequence

import numpy as np
import torch
from mmengine.structures import PixelData
from mmseg.datasets.transforms import PackSegInputs
from mmseg.registry import TRANSFORMS

META_KEYS = (
    'img_path',
    'seg_map_path',
    'ori_shape',
    'img_shape',
    'pad_shape',
    'scale_factor',
    'flip',
    'flip_direction',
    'reduce_zero_label',
    'class_flips',
    'sample_key',
)


@TRANSFORMS.register_module()
class PackStochasticInputs(PackSegInputs):
    """``PackSegInputs`` that also packs annotators and black-box predictions.

    Adds to the data sample ``gt_sem_segs`` (A, H, W) uint8, if the maps of
    all annotators were kept, and ``black_box_probs`` (K, H, W) float32, if
    they were loaded; to its meta information the flip table.

    Args:
        meta_keys: Keys of the results that become meta information.
    """

    def __init__(self, meta_keys: Sequence[str] = META_KEYS) -> None:
        super().__init__(meta_keys=tuple(meta_keys))

    def transform(self, results: dict) -> dict:
        """Pack one image."""
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
        return packed

    @staticmethod
    def _fields(results: dict, prefix: str) -> list[np.ndarray]:
        keys = results.get('seg_fields', [])
        return [results[key] for key in keys if key.startswith(prefix)]
