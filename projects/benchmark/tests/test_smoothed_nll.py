"""Likelihood of labels under the samples' own frequencies."""

import math

import pytest
import torch

from ..benchmark.smoothed_nll import SmoothedNLL


def test_it_counts_samples_pixel_by_pixel():
    torch.manual_seed(0)
    samples = torch.randint(3, (5, 4, 6))
    labels = torch.randint(3, (2, 4, 6))
    labels[0, 0, 0] = 255
    sample = dict(
        pred_samples=dict(data=samples),
        seg_logits=dict(data=torch.zeros(3, 4, 6)),
        # What a model reports beside its samples does not count.
        sample_probs=dict(data=torch.full((3, 4, 6), 1 / 3)),
        gt_sem_segs=dict(data=labels),
    )
    metric = SmoothedNLL()
    metric.dataset_meta = dict(classes=('a', 'b', 'c'))
    metric.process({}, [sample])
    found = metric.evaluate(1)
    terms = []
    for label in labels:
        for y in range(4):
            for x in range(6):
                if (own := int(label[y, x])) != 255:
                    count = sum(int(s[y, x]) == own for s in samples)
                    terms.append(-math.log((count + 1 / 3) / 6))
    expected = sum(terms) / len(terms)
    assert found == {'NLL_smoothed': pytest.approx(expected)}
