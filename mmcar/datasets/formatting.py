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
    'flips',
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
        fields = results.get('seg_fields', [])
        maps = [results[k] for k in fields if k.startswith('gt_seg_map_')]
        if maps:
            sample.gt_sem_segs = PixelData(
                data=torch.from_numpy(np.stack(maps))
            )
        if 'black_box_probs' in results:
            probs = results['black_box_probs'].transpose(2, 0, 1)
            # Rotation and padding fill with 255: no prediction there.
            filled = probs.sum(0, keepdims=True) > 2
            probs = np.where(filled, np.float32(1 / len(probs)), probs)
            sample.black_box_probs = PixelData(
                data=torch.from_numpy(np.ascontiguousarray(probs))
            )
        return packed
