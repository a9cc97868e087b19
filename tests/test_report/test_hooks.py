import io
import json
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from mmengine.structures import PixelData
from mmengine.visualization import BaseVisBackend
from mmseg.registry import HOOKS, VISBACKENDS
from mmseg.structures import SegDataSample
from PIL import Image

from mmcar.datasets.image_files import input_image
from mmcar.report import hooks
from mmcar.report.hooks import output_name
from mmcar.utils.errors import UserError
from tests.test_engine.runs import only, phased, train


def predicted(stochastic=True, key=None):
    torch.manual_seed(0)
    sample = SegDataSample(metainfo=dict(img_path='a/b/val/x.1.png'))
    if key:
        sample.set_metainfo(dict(sample_key=key))
    sample.pred_sem_seg = PixelData(data=torch.randint(2, (1, 6, 8)))
    sample.seg_logits = PixelData(data=torch.randn(2, 6, 8))
    sample.gt_sem_seg = PixelData(data=torch.randint(2, (1, 6, 8)))
    if stochastic:
        maps = torch.randint(2, (3, 6, 8), dtype=torch.uint8)
        sample.pred_samples = PixelData(data=maps)
        sample.sample_probs = PixelData(data=torch.rand(2, 6, 8))
    return sample


def run_hook(hook, sample, **metainfo):
    dataset = SimpleNamespace(metainfo=dict(classes=('a', 'b'), **metainfo))
    loop = SimpleNamespace(dataloader=SimpleNamespace(dataset=dataset))
    image = torch.randint(256, (3, 3, 4), dtype=torch.uint8)
    visualizer = SimpleNamespace(add_image=print)
    runner = SimpleNamespace(test_loop=loop, visualizer=visualizer, iter=0)
    hook.before_test_epoch(runner)
    hook.after_test_iter(runner, 0, dict(inputs=[image]), [sample])
    hook.after_test(runner)


def test_save_samples(tmp_path):
    hook = HOOKS.build(dict(type='SaveSamplesHook', out_dir=str(tmp_path)))
    sample = predicted()
    folder = tmp_path / 'samples/a/b/val/x.1'
    folder.mkdir(parents=True)
    (folder / '003.png').touch()  # of an earlier test with more samples
    run_hook(hook, sample)
    decision = np.array(Image.open(tmp_path / 'decision/a/b/val/x.1.png'))
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


@pytest.mark.parametrize('number', [1, 2, 3])
def test_colours_of_the_data_set_if_it_has_all(tmp_path, monkeypatch, number):
    drawn = []

    def draw(rows, palette, **_):
        drawn.append(palette.tolist())
        return Figure((1, 1))

    monkeypatch.setattr(hooks, 'draw_sample_grid', draw)
    hook = HOOKS.build(dict(type='DrawSamplesHook', out_dir=str(tmp_path)))
    palette = [[9, 0, k] for k in range(number)]
    run_hook(hook, predicted(key='val/x'), palette=palette)
    assert drawn == [palette if number == 2 else [[0] * 3, [255] * 3]]


def test_output_name():
    assert str(output_name(predicted())) == 'a/b/val/x.1'
    assert str(output_name(predicted(key='only'))) == 'only'
    assert str(output_name(predicted(key='val/p1/s/0.png'))) == 'val/p1/s/0'
    with pytest.raises(UserError, match='would have no name'):
        output_name(SegDataSample())


HOOK_TYPES = ['SaveSamplesHook', 'DrawSamplesHook']


@pytest.mark.parametrize('kind', HOOK_TYPES)
def test_whole_keys_keep_files_apart(tmp_path, kind):
    hook = HOOKS.build(dict(type=kind, out_dir=str(tmp_path)))
    for patient in ('p1', 'p2'):
        run_hook(hook, predicted(key=f'val/{patient}/s/0.png'))
    files = sorted(tmp_path.rglob('*.png'))
    for patient in ('p1', 'p2'):
        mine = [f for f in files if f'val/{patient}/s/0' in str(f)]
        assert 2 * len(mine) == len(files)
    assert files == sorted(p for p in tmp_path.rglob('*') if p.is_file())


@pytest.mark.parametrize('kind', HOOK_TYPES)
@pytest.mark.parametrize('key', ['../evil.png', '/evil.png', 'a/../../e.png'])
def test_keys_do_not_lead_out(tmp_path, kind, key):
    hook = HOOKS.build(dict(type=kind, out_dir=str(tmp_path / 'out')))
    with pytest.raises(UserError, match='leads out'):
        run_hook(hook, predicted(key=key))
    assert not list(tmp_path.rglob('*.png'))


class Listed(list):
    def get_data_info(self, index):
        return self[index]


@pytest.mark.parametrize('kind', HOOK_TYPES)
@pytest.mark.parametrize(
    ('paths', 'fine'),
    [
        (('a/x/0.png', 'b/x/0.png'), True),
        (('a/x/0.png', 'a/x/0.jpg'), False),
        (('a/x/0.png', 'a/y/0.png', 'a/x/1.png'), True),
    ],
)
def test_shared_names_are_found_before_the_test(tmp_path, kind, paths, fine):
    hook = HOOKS.build(dict(type=kind, out_dir=str(tmp_path)))
    dataset = Listed({'img_path': path} for path in paths)
    loop = SimpleNamespace(dataloader=SimpleNamespace(dataset=dataset))
    runner = SimpleNamespace(test_loop=loop)
    if fine:
        hook.before_test(runner)
    else:
        with pytest.raises(UserError, match=f'{paths[0]} and {paths[1]}'):
            hook.before_test(runner)
    keys = (f'split/{i}.png' for i in range(len(paths)))
    for info, key in zip(dataset, keys, strict=True):
        info['sample_key'] = key
    hook.before_test(runner)


def test_ids_above_255_take_16_bits(tmp_path):
    hook = HOOKS.build(dict(type='SaveSamplesHook', out_dir=str(tmp_path)))
    sample = predicted()
    ids = torch.tensor([0, 255, 256, 999]).view(1, 1, 4).expand(1, 6, 4)
    sample.pred_sem_seg = PixelData(data=ids)
    del sample.pred_samples, sample.gt_sem_seg
    run_hook(hook, sample)
    path = str(tmp_path / 'decision/a/b/val/x.1.png')
    stored = cv2.imread(path, cv2.IMREAD_UNCHANGED)
    assert stored.dtype == np.uint16
    np.testing.assert_array_equal(stored, ids[0])
    sample.seg_logits = PixelData(data=torch.randn(1000, 6, 4))
    sample.sample_probs = sample.seg_logits
    draw = HOOKS.build(dict(type='DrawSamplesHook', out_dir=str(tmp_path)))
    run_hook(draw, sample)


@pytest.mark.parametrize('kind', HOOK_TYPES)
def test_a_file_that_cannot_be_written_is_named(tmp_path, kind):
    (tmp_path / 'out').write_text('a file where a folder should be')
    hook = HOOKS.build(dict(type=kind, out_dir=str(tmp_path / 'out')))
    with pytest.raises(UserError, match=r'out.*x\.1.*cannot be written'):
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


@pytest.fixture
def validated(tmp_path, monkeypatch):
    """Train two iterations with a validation after each, and test."""
    monkeypatch.setattr(ImagesInMemory, 'sent', [])
    loader = dict(
        batch_size=2,
        num_workers=0,
        sampler=dict(type='DefaultSampler', shuffle=False),
        dataset=dict(type='RandomMaps', size=7),
    )
    score = dict(type='GEDMetric', num_samples=3)

    def run(hook, *backends):
        visualizer = dict(
            type='SegLocalVisualizer',
            name=str(tmp_path),
            vis_backends=[dict(type=name) for name in backends],
        )
        phase = dict(iters=2, train=['calibration'])
        runner = train(
            tmp_path,
            train_cfg=phased(phase, val_interval=1),
            **dict.fromkeys(('val_dataloader', 'test_dataloader'), loader),
            **dict.fromkeys(('val_evaluator', 'test_evaluator'), score),
            val_cfg=dict(type='ValLoop'),
            test_cfg=dict(type='TestLoop'),
            optim_wrapper=only('calibration'),
            param_scheduler=None,
            custom_hooks=[dict(type='ShowSamplesHook', **hook)],
            visualizer=visualizer,
        )
        runner.test()
        return tmp_path / runner.timestamp / 'vis_data'

    return run


def test_samples_reach_the_backends(validated):
    hook = dict(interval=3, num_images=2, num_samples=2)
    folder = validated(hook, 'ImagesInMemory', 'LocalVisBackend')
    names = [(name, step) for name, step, _ in ImagesInMemory.sent]
    shown = ('toy_0', 'toy_3')  # of the images 0 to 6
    assert names == [
        (f'{mode}_{name}', step)
        for mode, step in (('val', 1), ('val', 2), ('test', 2))
        for name in shown
    ]
    first = ImagesInMemory.sent[0][2]
    # Image, label, mean, entropy and two samples.
    assert first.dtype == np.uint8 and first.shape[1:] == (6 * 125, 3)
    stored = Image.open(folder / 'vis_image' / 'val_toy_0_1.png')
    np.testing.assert_array_equal(np.asarray(stored), first)


def test_samples_reach_tensorboard(validated):
    pytest.importorskip('tensorboard')
    from tensorboard.backend.event_processing import event_accumulator

    backends = ('ImagesInMemory', 'TensorboardVisBackend')
    events = event_accumulator.EventAccumulator(
        str(validated(dict(num_images=1), *backends))
    ).Reload()
    assert events.Tags()['images'] == ['val_toy_0', 'test_toy_0']
    stored = events.Images('val_toy_0')
    assert [image.step for image in stored] == [1, 2]
    picture = Image.open(io.BytesIO(stored[0].encoded_image_string))
    np.testing.assert_array_equal(
        np.asarray(picture), ImagesInMemory.sent[0][2]
    )


def labelled(seed):
    rng = torch.Generator().manual_seed(seed)
    sample = SegDataSample(metainfo=dict(img_path=f'{seed}.png'))
    logits = torch.randn(2, 6, 8, generator=rng).log_softmax(0)
    sample.seg_logits = PixelData(data=logits)
    label = torch.randint(2, (1, 6, 8), generator=rng)
    sample.gt_sem_seg = PixelData(data=label)
    maps = torch.full((3, 6, 8), seed % 2, dtype=torch.uint8)
    sample.pred_samples = PixelData(data=maps)
    return sample


def run_figures(tmp_path, number=5, **kwargs):
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
    samples = [labelled(i) for i in range(number)]
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
    assert hook.bins.sums[0].tolist() == count.tolist()
    assert hook.bins.sums[2].tolist() == hits.tolist()


def test_images_are_spread_over_the_set(tmp_path):
    hook, _ = run_figures(tmp_path, num_images=3)
    assert [int(row.samples[0, 0, 0]) for row in hook.rows] == [0, 0, 0]
    hook, _ = run_figures(tmp_path, number=4, num_images=2)
    assert [int(row.samples[0, 0, 0]) for row in hook.rows] == [0, 1]
    hook, _ = run_figures(tmp_path, number=4, num_images=9)
    assert len(hook.rows) == 4


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


def test_no_images_are_refused(tmp_path):
    with pytest.raises(UserError, match='num_images'):
        run_figures(tmp_path, num_images=0)
