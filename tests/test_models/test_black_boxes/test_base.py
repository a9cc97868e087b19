"""Predictions that the data pipeline has read."""

import pytest
import torch
from mmengine.structures import PixelData
from mmseg.structures import SegDataSample

from mmcar.models.black_boxes import CachedBlackBox


class TestCached:
    def sample(self, probs):
        sample = SegDataSample(metainfo=dict(img_path='a/b.png'))
        sample.black_box_probs = PixelData(data=probs)
        return sample

    def test_collects_a_batch(self):
        probs = torch.rand(2, 3, 4, 6).softmax(1)
        samples = [self.sample(one) for one in probs]
        found = CachedBlackBox(3)(torch.zeros(2, 3, 4, 6), samples)
        assert torch.equal(found, probs)

    def test_refuses(self):
        image, probs = torch.zeros(1, 3, 4, 4), torch.full((3, 4, 4), 1 / 3)
        for samples, named in (
            ([SegDataSample()], 'LoadBlackBoxProbs'),
            ([self.sample(probs)], 'num_classes=2'),
            (None, 'data samples'),
        ):
            with pytest.raises(ValueError, match=named):
                CachedBlackBox(2)(image, samples)
