"""Predicted images with random content, and an evaluator for them."""

import torch
from mmengine.evaluator import Evaluator
from mmengine.structures import PixelData
from mmseg.registry import METRICS
from mmseg.structures import SegDataSample

from . import brute_force as bf

FLIPS = ((0, 2, 0.25), (1, 3, 0.5))


def image(i, k=2, annotators=3, samples=6, flips=None):
    """A predicted image with random content."""
    g = torch.Generator().manual_seed(i)
    sample = SegDataSample(metainfo={'img_path': f'images/{i}.png'})
    fields = {
        'pred_samples': bf.maps(samples, k, seed=i),
        'gt_sem_segs': bf.maps(
            annotators, 2 if flips else k, ignore=255, seed=i + 100
        ),
        'seg_logits': torch.randn(k, 5, 7, generator=g).log_softmax(0),
        'sample_probs': torch.rand(k, 5, 7, generator=g).softmax(0),
    }
    for name, data in fields.items():
        sample.set_data({name: PixelData(data=data)})
    if flips:
        sample.set_metainfo({'class_flips': flips})
    return sample


def evaluator(*configs, classes=('background', 'nodule')):
    result = Evaluator([METRICS.build(config) for config in configs])
    result.dataset_meta = {'classes': classes}
    return result


def scored(images, *configs, **kwargs):
    """Scores of predicted images."""
    run = evaluator(*configs, **kwargs)
    run.process(images)
    return run.evaluate(len(images))
