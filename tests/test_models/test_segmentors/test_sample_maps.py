"""Label maps of resized samples, and their mean."""

import pytest
import torch

from mmcar.models.segmentors.sample_maps import SampleMaps, possible_classes
from mmcar.structures import to_original


@pytest.mark.parametrize(
    ('sharpness', 'size'),
    [(0.1, (24, 20)), (3.0, (32, 32)), (30.0, (9, 11)), (3.0, (16, 16))],
)
def test_samples_are_those_of_resized_probabilities(sharpness, size):
    """Though classes that cannot win are not resized."""
    torch.manual_seed(0)
    logits = torch.randn(4, 7, 4, 4).repeat_interleave(4, 2)
    logits = logits.repeat_interleave(4, 3)
    logits[:, 2] -= 5  # hardly there
    probs = (sharpness * logits).softmax(1)
    found = [possible_classes(one) for one in probs]
    assert all(len(ids) > 1 for ids in found)
    assert sharpness < 1 or any(2 not in ids for ids in found)

    meta = dict(ori_shape=size)
    maps = SampleMaps(7, probs, meta, align_corners=False)
    maps.add_probs(probs[:3])
    maps.add_probs(probs[3:])
    fields = maps.fields(4)
    resized = to_original(probs, meta, False)
    assert fields['pred_samples'].data.dtype == torch.uint8
    assert torch.equal(fields['pred_samples'].data.long(), resized.argmax(1))
    mean = fields['sample_probs'].data
    torch.testing.assert_close(mean, resized.mean(0), rtol=0, atol=1e-6)
