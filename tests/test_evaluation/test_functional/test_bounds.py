import numpy as np
import pytest
import torch

from mmcar.evaluation import bounds
from mmcar.evaluation.functional.bounds import SAMPLERS, Truth
from mmcar.structures import ClassFlips, label_distribution
from mmcar.utils.errors import UserError

from .. import brute_force as bf

FLIPS = [(0, 2, 0.25), (1, 3, 0.5)]


def blobs(seed, size=20):
    """Four discs of different radius: nested shapes."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:size, :size] - size // 2
    radii = rng.uniform(3, 9, 4)
    return torch.from_numpy(
        np.stack([(x**2 + y**2 < r**2) for r in radii]).astype(np.uint8)
    )


def truth(labels, flips):
    known = {'gt_sem_segs': {'data': labels}, 'class_flips': flips}
    probs, _ = label_distribution(known, 4)
    return Truth(probs, labels.long(), ClassFlips.parse(flips))


@pytest.mark.parametrize('flips', [[], FLIPS])
@pytest.mark.parametrize('name', [n for n in SAMPLERS if 'argmax' not in n])
def test_every_sampler_has_the_true_marginals(name, flips):
    labels = bf.maps(1 if flips else 3, 2, (3, 4))
    known = truth(labels, flips)
    generator = torch.Generator().manual_seed(0)
    maps = SAMPLERS[name](known, 4000, generator)
    assert maps.shape == (4000, 3, 4)
    frequency = torch.stack([(maps == c).float().mean(0) for c in range(4)])
    assert (frequency - known.probs).abs().max() < 0.04


def test_whole_classes_flip_independently():
    label = torch.tensor([[[0, 0, 1, 1]]])
    for name in ('perfect sampler', 'shared Gumbel noise'):
        generator = torch.Generator().manual_seed(0)
        maps = SAMPLERS[name](truth(label, FLIPS), 4000, generator)[:, 0]
        assert (maps[:, 0] == maps[:, 1]).all()
        turned = (maps[:, ::2] >= 2).double()
        assert abs(torch.corrcoef(turned.T)[0, 1]) < 0.05


def test_perfect_sampler_scores_the_labels_own_diversity_over_n():
    """E[GED_n] = E d(y, y') / n for n independent draws."""
    images = torch.stack([blobs(seed) for seed in range(60)])
    scores = bounds(images, num_classes=2, num_samples=(4, 16))
    diversity = [
        bf.ged_terms(y, y, [1] * 4, (1,), 255, 'one')[2] for y in images
    ]
    for n in (4, 16):
        got = scores['perfect sampler'][f'GED_{n}']
        assert got == pytest.approx(np.mean(diversity) / n, rel=0.25)
    order = ('perfect sampler', 'argmax of the mean', 'independent pixels')
    hm_iou = [scores[name]['HM-IoU_16'] for name in order]
    assert hm_iou[0] > hm_iou[1] and hm_iou[0] > hm_iou[2]
    # nested shapes: level sets of the mean are the shapes themselves
    levels = scores['random threshold of the mean']['GED_16']
    assert levels == pytest.approx(
        scores['perfect sampler']['GED_16'], rel=0.3
    )


def test_annotators_who_labelled_nothing_are_not_drawn():
    """Else a perfect sampler would draw the likeliest map in their place."""
    discs = [blobs(i) for i in range(12)]
    empty = torch.full_like(discs[0][:2], 255)
    alone = bounds((d.numpy() for d in discs), num_classes=2)
    more = [torch.cat([d, empty]) for d in discs]
    scores = bounds([*more, torch.cat([empty, empty])], num_classes=2)
    assert scores['perfect sampler'].pop('GED_16_left_out') == 1
    assert scores['perfect sampler'].pop('labels_left_out') == 24 + 4
    for name, row in alone.items():
        for key in ('GED_16', 'HM-IoU_16', 'D_max_16', 'diversity_16'):
            got = scores[name][key]
            assert got == pytest.approx(row[key], rel=1e-12), (name, key)


def test_one_image_and_what_are_no_labels():
    labels, how = bf.maps(3, 2), dict(num_classes=2, num_samples=2)
    assert bounds(labels, **how) == bounds(labels[None].numpy(), **how)
    for wrong in (labels.float(), labels + 1):
        with pytest.raises(UserError, match='labels'):
            bounds(wrong, **how)
    with pytest.raises(UserError, match='num_samples'):
        bounds(labels, num_classes=2, num_samples=0)
