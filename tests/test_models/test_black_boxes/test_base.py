"""Predictions that the data pipeline has read."""

import pytest
import torch
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample

from mmcar.models.black_boxes import CachedBlackBox


class TestCached:
    def sample(self, probs, size):
        sample = SegDataSample(
            metainfo=dict(img_path='a/b.png', img_shape=size)
        )
        if probs is not None:
            sample.black_box_probs = PixelData(data=probs)
        return sample

    def test_collects_a_batch(self):
        probs = torch.rand(2, 3, 4, 6).softmax(1)
        samples = [self.sample(one, (4, 6)) for one in probs]
        found = CachedBlackBox(3)(torch.zeros(2, 3, 4, 6), samples)
        assert torch.equal(found, probs)

    def test_refuses(self):
        image = torch.zeros(1, 3, 4, 4)
        with pytest.raises(ValueError, match=r'a/b\.png'):
            CachedBlackBox(2)(image, [self.sample(None, (4, 4))])
        probs = torch.full((3, 4, 4), 1 / 3)
        with pytest.raises(ValueError, match='num_classes=2'):
            CachedBlackBox(2)(image, [self.sample(probs, (4, 4))])
        with pytest.raises(ValueError, match='data samples'):
            CachedBlackBox(2)(image, None)
