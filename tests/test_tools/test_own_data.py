"""The guide to own data, followed by the letter."""

import re
import shlex

import cv2
import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.dataset import pseudo_collate
from mmseg.registry import DATASETS, MODELS
from PIL import Image

from mmcar.engine.black_box_cache import prepare_caches

from ..test_datasets.encoding import png16
from .project import ROOT, run

SIZES = ((584, 565), (605, 700))
ITERS = {'2000': '3', '500': '2', '2500': '5'}


def read_guide(part=0):
    """Python and commands up to the model of one's own, or from there on."""
    text = (ROOT / 'docs/do/own_data.md').read_text().split('## 6.')[part]
    blocks = re.findall(r'```(\w+)\n(.*?)```', text, flags=re.DOTALL)
    python = [code for kind, code in blocks if kind == 'python']
    shell = ''.join(code for kind, code in blocks if kind == 'bash')
    lines = shell.strip().splitlines()
    # That one has tests of its own; the rest is the same by hand.
    return python, [line for line in lines if 'tools/start.py' not in line]


def write_vessels(root, sizes=SIZES, deep=False):
    """Lines that two observers marked, in several formats."""
    rng = np.random.default_rng(0)
    for split, count in {'train': 3, 'val': 2, 'test': 2}.items():
        for i in range(count):
            size = sizes[i % 2]
            mask = np.zeros(size, np.uint8)
            for _ in range(6):
                ends = rng.integers(0, min(size), 4).tolist()
                cv2.line(mask, ends[:2], ends[2:], 255, 5)
            image = 80 + 60 * rng.random((*size, 3)) + mask[..., None] // 4
            folder = root / 'images' / split / 'p1'
            folder.mkdir(parents=True, exist_ok=True)
            if deep:
                data = png16((image * 99).astype(np.uint16))
                (folder / f'{i}.PNG').write_bytes(data)
            else:
                suffix = ('.ppm', '.TIF')[i % 2]
                picture = Image.fromarray(image.astype(np.uint8))
                picture.save(folder / f'{i}{suffix}')
            folder = root / 'annotations' / split / 'p1' / str(i)
            folder.mkdir(parents=True)
            Image.fromarray(mask).save(folder / 'first.gif')
            thin = cv2.erode(mask, np.ones((3, 3), np.uint8))
            Image.fromarray(thin).save(folder / 'second.png')


def follow(folder, intensity='[]'):
    """Copy the template and write the configs as the guide says."""
    (folder / 'configs').symlink_to(ROOT / 'configs')
    (edited, config), _ = read_guide()
    template = ROOT / 'configs/_base_/datasets/my_data.py'
    given, rest = template.read_text().split('\n\n', 1)
    names = re.compile(r'^(\w+) =', re.MULTILINE)
    assert names.findall(edited) == names.findall(given)
    edited = edited.replace('intensity = []', f'intensity = {intensity}')
    (folder / 'mine').mkdir()
    (folder / 'mine/data.py').write_text(f'{edited}\n{rest}')
    (folder / 'mine/vessels.py').write_text(config)


@pytest.mark.parametrize('deep', [False, True])
def test_template_reads_images_of_odd_sizes(tmp_path, monkeypatch, deep):
    monkeypatch.chdir(tmp_path)
    sizes = ((37, 41), (150, 140))
    write_vessels(tmp_path / 'data/vessels', sizes, deep)
    window = "[dict(type='WindowIntensity', low=0, high=25000)]"
    follow(tmp_path, window if deep else '[]')
    config = Config.fromfile('mine/vessels.py')
    np.random.seed(0)
    for split in ('train', 'val', 'test'):
        data = DATASETS.build(config[f'{split}_dataloader'].dataset)
        for i in range(len(data)):
            packed, sample = data[i]['inputs'], data[i]['data_samples']
            size = (128, 128) if split == 'train' else sizes[i % 2]
            assert packed.shape == (3, *size)
            assert 50 < packed.max() <= 255
            assert sample.gt_sem_segs.data.shape == (2, *size)
            ids = {*sample.gt_sem_segs.data.unique().tolist()}
            assert ids <= {0, 1, 255}
            assert sample.sample_key.startswith(f'{split}/p1/{i}.')


def test_on_a_model_of_ones_own(tmp_path, monkeypatch):
    """Training reads crops of what B says of whole images."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    write_vessels(tmp_path / 'data/vessels', ((160, 144),) * 2)
    follow(tmp_path)
    (text,), _ = read_guide(1)
    text = text.replace('565, 584', '144, 160')
    (tmp_path / 'mine/on_my_model.py').write_text(text)
    net = 'lambda: torch.nn.Conv2d(3, 2, 9, 2, 4)'
    (tmp_path / 'my_net.py').write_text(f'import torch\n\nmake = {net}\n')
    weights = torch.nn.Conv2d(3, 2, 9, 2, 4).state_dict()
    torch.save(weights, 'my_net.pth')
    cfg = Config.fromfile('mine/on_my_model.py')
    prepare_caches(cfg)
    model = MODELS.build(cfg.model)
    box = model.decode_head.black_box

    found = {}
    for split in ('val', 'train', 'test'):
        dataset = DATASETS.build(cfg[f'{split}_dataloader'].dataset)
        data = model.data_preprocessor(pseudo_collate([dataset[0]]))
        (sample,) = data['data_samples']
        whole = cv2.imread(sample.img_path).transpose(2, 0, 1)
        expected, _ = box.predict_file(torch.from_numpy(whole))
        found[split] = box(image=data['inputs'], data_samples=[sample])[0]
        if split == 'train':  # a crop, mirrored or not
            assert found[split].shape == (2, 128, 128)
            if sample.flip:
                found[split] = found[split].flip(-1)
            expected = nearest_crop(expected, found[split])
        assert (found[split] - expected).abs().max() < 1 / 255
        assert expected.std() > 0.02
    expected, _ = box.predict_file(sample.black_box_image.data)
    assert torch.equal(found['test'], expected)


def nearest_crop(whole, crop):
    windows = whole.unfold(1, crop.shape[1], 1).unfold(2, crop.shape[2], 1)
    distance = (windows - crop[:, None, None]).abs().amax((0, 3, 4))
    y, x = divmod(int(distance.argmin()), distance.shape[1])
    return windows[:, y, x]


@pytest.mark.slow
def test_every_command_of_the_guide(tmp_path):
    write_vessels(tmp_path / 'data/vessels')
    follow(tmp_path)
    config = tmp_path / 'mine/vessels.py'
    text = config.read_text()
    for many, few in ITERS.items():
        text = re.sub(rf'=\b{many}\b', f'={few}', text)
    text += 'train_dataloader = dict(batch_size=2)\n'
    text += 'val_dataloader = test_dataloader = dict(num_workers=0, '
    text += 'persistent_workers=False)\n'
    config.write_text(text)
    (tmp_path / 'tools').symlink_to(ROOT / 'tools')
    _, commands = read_guide()
    assert commands.pop(0).startswith('mkdir -p mine && cp ')
    for command in commands:
        words = shlex.split(command.replace('iter_2500', 'iter_5'))
        done = run(*words[1:], cwd=tmp_path)
        assert done.returncode == 0, f'{command}\n{done.stderr[-3000:]}'
    for name in (
        'browse/index.html',
        'vessels/maps/samples/test/p1/1/015.png',
        'vessels/maps/decision/test/p1/0.png',
        'vessels/pictures/test/p1/1.png',
        'vessels/figures/samples.png',
    ):
        assert (tmp_path / 'work_dirs' / name).is_file(), name
