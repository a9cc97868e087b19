import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from mmengine.structures import PixelData
from mmseg.registry import HOOKS
from mmseg.structures import SegDataSample

from mmcar.utils.errors import UserError


def predicted(seed):
    rng = torch.Generator().manual_seed(seed)
    sample = SegDataSample(metainfo=dict(img_path=f'{seed}.png'))
    logits = torch.randn(2, 6, 8, generator=rng).log_softmax(0)
    sample.seg_logits = PixelData(data=logits)
    label = torch.randint(2, (1, 6, 8), generator=rng)
    sample.gt_sem_seg = PixelData(data=label)
    maps = torch.full((3, 6, 8), seed % 2, dtype=torch.uint8)
    sample.pred_samples = PixelData(data=maps)
    return sample


def run_hook(tmp_path, number=5, **kwargs):
    """Let a hook see images, the first three of which are a batch."""
    out_dir = str(tmp_path / 'figures')
    hook = HOOKS.build(dict(type='FiguresHook', out_dir=out_dir, **kwargs))
    dataset = SimpleNamespace(metainfo=dict(classes=('a', 'b')))
    loader = SimpleNamespace(dataset=dataset, sampler=range(number))
    runner = SimpleNamespace(
        test_loop=SimpleNamespace(dataloader=loader),
        work_dir=str(tmp_path),
        timestamp='today',
    )
    samples = [predicted(i) for i in range(number)]
    images = torch.arange(number).view(-1, 1, 1, 1).expand(-1, 3, 6, 8)
    hook.before_test(runner)
    for part in (slice(0, 3), slice(3, None)):
        batch = dict(inputs=list(images[part].to(torch.uint8)))
        hook.after_test_iter(runner, 0, batch, samples[part])
    hook.after_test(runner)
    return hook, samples


def write_log(tmp_path, run):
    log = tmp_path / run / 'vis_data' / 'scalars.json'
    log.parent.mkdir(parents=True)
    lines = (dict(step=step, loss=1 / step) for step in (1, 2, 3))
    log.write_text('\n'.join(map(json.dumps, lines)))


def test_bins_are_of_all_images(tmp_path):
    hook, samples = run_hook(tmp_path)
    count, hits = np.zeros(10), np.zeros(10)
    for sample in samples:
        probs = sample.seg_logits.data.exp()
        for p, label in zip(
            probs.flatten(1).T, sample.gt_sem_seg.data.flatten(), strict=True
        ):
            index = min(int(p.max() * 10), 9)
            count[index] += 1
            hits[index] += p.argmax() == label
    assert hook.bins.sums[0].tolist() == count.tolist()
    assert hook.bins.sums[2].tolist() == hits.tolist()


def test_images_are_spread_over_the_set(tmp_path):
    hook, _ = run_hook(tmp_path, num_images=3)
    assert [int(row.samples[0, 0, 0]) for row in hook.rows] == [0, 0, 0]
    hook, _ = run_hook(tmp_path, number=4, num_images=2)
    assert [int(row.samples[0, 0, 0]) for row in hook.rows] == [0, 1]
    hook, _ = run_hook(tmp_path, number=4, num_images=9)
    assert len(hook.rows) == 4


def test_curves_are_those_of_a_training(tmp_path, capsys):
    write_log(tmp_path, 'today')  # of the test itself
    run_hook(tmp_path)
    assert 'No training curves' in capsys.readouterr().out
    write_log(tmp_path, 'before')
    run_hook(tmp_path)
    drawn = capsys.readouterr().out.splitlines()
    folder = tmp_path / 'figures'
    names = ('samples', 'reliability', 'training')
    assert drawn == [str(folder / f'{name}.png') for name in names]
    assert all((folder / f'{name}.png').is_file() for name in names)


def test_no_images_are_refused(tmp_path):
    with pytest.raises(UserError, match='num_images'):
        run_hook(tmp_path, num_images=0)
