import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from mmengine.structures import PixelData
from mmengine.visualization import BaseVisBackend
from mmseg.registry import HOOKS, VISBACKENDS
from mmseg.structures import SegDataSample
from PIL import Image

from mmcar.datasets.image_files import input_image
from mmcar.report import hooks
from mmcar.report.hooks import output_name
from mmcar.utils.errors import UserError
from tests.test_engine.runs import only, phased, scored, train


def predicted(stochastic=True, key=None, seed=0):
    torch.manual_seed(seed)
    sample = SegDataSample(metainfo=dict(img_path='a/b/val/x.1.png'))
    if key:
        sample.set_metainfo(dict(sample_key=key))
    sample.pred_sem_seg = PixelData(data=torch.randint(2, (1, 6, 8)))
    logits = torch.randn(2, 6, 8).log_softmax(0)
    sample.seg_logits = PixelData(data=logits)
    sample.gt_sem_seg = PixelData(data=torch.randint(2, (1, 6, 8)))
    if stochastic:
        maps = torch.randint(2, (3, 6, 8), dtype=torch.uint8)
        sample.pred_samples = PixelData(data=maps)
        probs = torch.randn(2, 6, 8).softmax(0)
        sample.sample_probs = PixelData(data=probs)
    return sample


def run_hook(hook, *samples, **metainfo):
    """Let a hook see images, the first three of which are a batch."""
    dataset = SimpleNamespace(metainfo=dict(classes=('a', 'b'), **metainfo))
    loader = SimpleNamespace(dataset=dataset, sampler=samples)
    runner = SimpleNamespace(
        test_loop=SimpleNamespace(dataloader=loader),
        visualizer=SimpleNamespace(add_image=print),
        iter=0,
        work_dir=getattr(hook, 'out_dir', Path()).parent,
        timestamp='today',
    )
    hook.before_test(runner)
    hook.before_test_epoch(runner)
    values = torch.arange(10, 10 + len(samples), dtype=torch.uint8)
    images = [*values.view(-1, 1, 1, 1).expand(-1, 3, 6, 8)]
    for part in (slice(3), slice(3, None)):
        batch = dict(inputs=images[part])
        hook.after_test_iter(runner, 0, batch, samples[part])
    hook.after_test(runner)


def test_save_samples(tmp_path):
    hook = HOOKS.build(dict(type='SaveSamplesHook', out_dir=str(tmp_path)))
    sample = predicted()
    folder = tmp_path / 'samples/a/b/val/x.1'
    folder.mkdir(parents=True)
    (folder / '003.png').touch()  # of an earlier test with more samples
    palette = [[9, 0, 1], [9, 0, 2]]
    run_hook(hook, sample, palette=palette)
    decision = Image.open(tmp_path / 'decision/a/b/val/x.1.png')
    assert decision.getpalette()[:6] == [9, 0, 1, 9, 0, 2]
    decision = np.array(decision)
    assert (decision == sample.pred_sem_seg.data[0].numpy()).all()
    maps = [np.array(Image.open(path)) for path in sorted(folder.iterdir())]
    assert (np.stack(maps) == sample.pred_samples.data.numpy()).all()


def test_draw_samples_of_any_model(tmp_path):
    hook = HOOKS.build(dict(type='DrawSamplesHook', out_dir=str(tmp_path)))
    run_hook(hook, predicted(key='val/ours'))
    run_hook(hook, predicted(stochastic=False, key='val/stock'))
    ours = Image.open(tmp_path / 'val' / 'ours.png')
    stock = Image.open(tmp_path / 'val' / 'stock.png')
    assert ours.width > stock.width


def test_output_name():
    assert str(output_name(predicted())) == 'a/b/val/x.1'
    assert str(output_name(predicted(key='only'))) == 'only'
    assert str(output_name(predicted(key='val/p1/s/0.png'))) == 'val/p1/s/0'
    with pytest.raises(UserError, match='would have no name'):
        output_name(SegDataSample())
    for key in ('../evil.png', '/evil.png', 'a/../../e.png'):
        with pytest.raises(UserError, match='leads out'):
            output_name(predicted(key=key))


HOOK_TYPES = ['SaveSamplesHook', 'DrawSamplesHook']


class Listed(list):
    def get_data_info(self, index):
        return self[index]


@pytest.mark.parametrize('kind', HOOK_TYPES)
def test_shared_names_are_found_before_the_test(tmp_path, kind):
    hook = HOOKS.build(dict(type=kind, out_dir=str(tmp_path)))
    paths = ['a/x/0.png', 'b/x/0.png', 'a/y/0.png', 'a/x/1.png']
    dataset = Listed({'img_path': path} for path in paths)
    loop = SimpleNamespace(dataloader=SimpleNamespace(dataset=dataset))
    runner = SimpleNamespace(test_loop=loop)
    hook.before_test(runner)
    dataset.append({'img_path': 'a/x/0.jpg'})
    with pytest.raises(UserError, match=r'a/x/0\.png and a/x/0\.jpg'):
        hook.before_test(runner)
    dataset[-1]['sample_key'] = 'split/0.png'
    hook.before_test(runner)


@pytest.mark.parametrize('kind', HOOK_TYPES)
def test_a_file_that_cannot_be_written_is_named(tmp_path, kind):
    (tmp_path / 'out').write_text('a file where a folder should be')
    hook = HOOKS.build(dict(type=kind, out_dir=str(tmp_path / 'out')))
    with pytest.raises(UserError, match=r'out.*cannot be written'):
        run_hook(hook, predicted())


def test_input_image():
    image = torch.tensor([10, 20, 30]).view(3, 1, 1).expand(3, 2, 2)
    assert input_image(image, (4, 6)).shape == (4, 6, 3)
    assert input_image([image], (2, 2))[0, 0].tolist() == [30, 20, 10]
    deep = torch.tensor([[[500.0, 60000.0]]])
    assert input_image(deep, (1, 2)).tolist() == [[[0] * 3, [255] * 3]]
    grey = torch.tensor([[[-1.0, 1.0]]])
    assert input_image(grey, (1, 2)).tolist() == [[[0] * 3, [255] * 3]]


def test_figures_are_shown_where_there_is_a_screen(monkeypatch):
    shown = []
    monkeypatch.setattr(hooks, 'show_picture', lambda *a: shown.append(a))
    monkeypatch.setenv('DISPLAY', ':0')
    window = dict(type='ShowSamplesHook', show=True, wait_time=0.5)
    hook = HOOKS.build(window)
    run_hook(hook, predicted())
    ((picture, name, seconds),) = shown
    assert picture.shape[2] == 3 and picture.std() > 0
    assert (name, seconds) == ('a/b/val/x.1', 0.5)
    for screen in ('DISPLAY', 'WAYLAND_DISPLAY'):
        monkeypatch.delenv(screen, raising=False)
    with pytest.raises(UserError, match='no display'):
        HOOKS.build(window)


@VISBACKENDS.register_module()
class ImagesInMemory(BaseVisBackend):
    """Keeps images as a service such as W&B would get them."""

    sent = []
    experiment = None

    def add_image(self, name, image, step=0, **_):
        self.sent.append((name, step, image))

    def ignore(self, *args, **kwargs):
        pass

    _init_env = add_config = add_scalar = add_scalars = ignore


def test_samples_reach_the_backends(tmp_path):
    """Of two validations and the test of a training of two iterations."""
    score = dict(type='GEDMetric', num_samples=3)
    backends = ('ImagesInMemory', 'LocalVisBackend')
    hook = dict(interval=3, num_images=2, num_samples=2)
    runner = train(
        tmp_path,
        train_cfg=phased(dict(iters=2, train=['calibration']), val_interval=1),
        **scored(score, 'val', 'test', size=7),
        optim_wrapper=only('calibration'),
        param_scheduler=None,
        custom_hooks=[dict(type='ShowSamplesHook', **hook)],
        visualizer=dict(
            type='SegLocalVisualizer',
            name=str(tmp_path),
            vis_backends=[dict(type=name) for name in backends],
        ),
    )
    runner.test()
    names = [(name, step) for name, step, _ in ImagesInMemory.sent]
    assert names == [
        (f'{mode}_{name}', step)
        for mode, step in (('val', 1), ('val', 2), ('test', 2))
        for name in ('toy_0', 'toy_3')  # of the images 0 to 6
    ]
    first = ImagesInMemory.sent[0][2]
    # Image, label, mean, entropy and two samples.
    assert first.dtype == np.uint8 and first.shape[1:] == (6 * 125, 3)
    folder = tmp_path / runner.timestamp / 'vis_data'
    stored = Image.open(folder / 'vis_image' / 'val_toy_0_1.png')
    np.testing.assert_array_equal(np.asarray(stored), first)


def run_figures(tmp_path, number=5, **kwargs):
    out_dir = str(tmp_path / 'figures')
    hook = HOOKS.build(dict(type='FiguresHook', out_dir=out_dir, **kwargs))
    samples = [predicted(seed=i) for i in range(number)]
    run_hook(hook, *samples)
    return hook, samples


def write_log(tmp_path, run):
    log = tmp_path / run / 'vis_data' / 'scalars.json'
    log.parent.mkdir(parents=True)
    lines = (dict(step=step, loss=1 / step) for step in (1, 2, 3))
    log.write_text('\n'.join(map(json.dumps, lines)))


@pytest.fixture
def undrawn(monkeypatch):
    monkeypatch.setattr(hooks, 'write_figure', lambda *args: None)


def test_bins_are_of_all_images(tmp_path, undrawn):
    hook, samples = run_figures(tmp_path)
    count, hits = np.zeros(10), np.zeros(10)
    for sample in samples:
        probs = sample.seg_logits.data.exp()
        for p, label in zip(
            probs.flatten(1).T, sample.gt_sem_seg.data.flatten(), strict=True
        ):
            index = min(int(p.max() * 10), 9)
            count[index] += 1
            hits[index] += p.argmax() == label
    sums = hook.metric.bins_of(hook.metric.results).sums
    assert sums[0].tolist() == count.tolist()
    assert sums[2].tolist() == hits.tolist()


def test_curves_are_those_of_a_training(tmp_path, capsys):
    write_log(tmp_path, 'today')  # of the test itself
    run_figures(tmp_path)
    assert 'No training curves' in capsys.readouterr().out
    write_log(tmp_path, 'before')
    run_figures(tmp_path)
    drawn = capsys.readouterr().out.splitlines()
    folder = tmp_path / 'figures'
    names = ('samples', 'reliability', 'training')
    assert drawn == [str(folder / f'{name}.png') for name in names]
    assert all((folder / f'{name}.png').is_file() for name in names)
