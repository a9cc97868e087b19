import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import mmcar
from mmcar.utils.errors import UserError
from tests.test_inference.models import (
    own_config,
    save_weights,
    stock_config,
    write_images,
)
from tests.test_tools.project import ROOT, run
from tests.test_tools.scripts import load_script

TOOL = ROOT / 'tools' / 'infer.py'


def write_model(folder, cfg):
    path = folder / 'model.py'
    cfg.dump(path)
    return path, save_weights(cfg, folder / 'weights.pth')


def test_bad_entries_of_a_folder_are_named_and_the_others_done(tmp_path):
    config, weights = write_model(tmp_path, stock_config())
    images = write_images(tmp_path / 'in', ((16, 16), (16, 24), (16, 16)))
    (tmp_path / 'in' / '1b.png').write_bytes(b'no image')
    (tmp_path / 'in' / 'self.png').symlink_to('self.png')
    (tmp_path / 'in' / 'gone.png').symlink_to('nowhere.png')
    shutil.copy(images[0], tmp_path / 'in' / f'{"x" * 251}.png')
    (tmp_path / 'in' / '0.png').rename(tmp_path / 'in' / 'dir.png')
    Path(images[2]).rename(tmp_path / 'in' / '2.jpg')
    (tmp_path / 'in' / '2.png').mkdir()
    shutil.copy(images[1], tmp_path / 'in' / '2.png' / '0.png')
    out = tmp_path / 'out'
    for k in (2, 3):  # of an earlier run
        path = out / 'samples' / '1' / f'00{k}.png'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    done = run(
        *(TOOL, config, weights, tmp_path / 'in', '--out-dir', out),
        *('--num-samples', 2, '--batch-size', 2, '--no-figures'),
    )
    assert done.returncode == 1, done.stderr
    bad = ('1b', 'gone', 'self', 'x' * 251)
    assert all(f'{name}.png' in done.stderr for name in bad)
    assert 'Traceback' not in done.stderr
    names = ['1', '2', '2_png/0', 'dir']
    summary = json.loads((out / 'summary.json').read_text())
    assert sorted(image['name'] for image in summary['images']) == names
    unreadable = sorted(image['name'] for image in summary['unreadable'])
    assert unreadable == sorted(bad)
    for name in names:
        assert len(list((out / 'samples' / name).iterdir())) == 2
        shape = np.array(Image.open(out / 'decision' / f'{name}.png')).shape
        assert shape == ((16, 24) if name in names[0::2] else (16, 16))
    assert not (out / 'hypotheses').exists()


def test_all_files_of_our_own_model(tmp_path):
    config, weights = write_model(tmp_path, own_config())
    image = write_images(tmp_path / 'in', ((24, 24),))[0]
    out = tmp_path / 'out'
    done = run(
        *(TOOL, config, image, '--checkpoint', weights, '--out-dir', out),
        *('--num-samples', 4, '--seed', 1, '--npz', '--device', 'cpu'),
        *('--window', 16, 16, '--stride', 8, 8),
    )
    assert done.returncode == 0, done.stderr
    kinds = {path.name for path in out.iterdir()}
    pictures = {'overlay', 'uncertainty', 'hypotheses', 'contours'}
    assert kinds == pictures | {'decision', 'samples', 'npz', 'summary.json'}
    summary = json.loads((out / 'summary.json').read_text())['images'][0]
    total = sum(h['probability'] for h in summary['hypotheses'])
    assert total == pytest.approx(1)
    assert summary['path'] == image


@pytest.mark.parametrize(
    ('given', 'option', 'expected'),
    [
        (['w.pth', 'a.png'], None, ('w.pth', ['a.png'])),
        (['a.png', 'b'], None, (None, ['a.png', 'b'])),
        (['a.png'], 'w.bin', ('w.bin', ['a.png'])),
        (['w.pth'], None, None),
        (['a.png', 'w.pth'], None, None),
        (['w.pth', 'a.png'], 'v.pth', None),
        (['w.pth', 'v.pth', 'a.png'], None, None),
    ],
)
def test_the_checkpoint_is_told_from_images(given, option, expected):
    split = load_script('infer.py').split_inputs
    if expected:
        assert split(given, option) == expected
    else:
        with pytest.raises(UserError, match=r'\.pth'):
            split(given, option)


def test_a_model_without_a_config(tmp_path):
    (path,) = write_images(tmp_path / 'in', [(13, 17)])
    name, out = 'tests.test_wrapped_model:Halving', tmp_path / 'out'
    done = run(
        *(TOOL, name, path, '--out-dir', out, '--num-samples', 2, '--npz'),
        *('--mean', 110, 120, 130, '--std', 60, '--divisor', 2),
        *('--classes', 'a', 'b', 'c', '--no-figures'),
    )
    assert done.returncode == 0, done.stderr
    model = mmcar.wrap(name, mean=[110.0, 120.0, 130.0], std=60, divisor=2)
    (expected,) = model.results(path, num_samples=2)
    with np.load(out / 'npz' / '0.npz') as arrays:
        np.testing.assert_array_equal(arrays['samples'], expected.samples)
    assert json.loads((out / 'summary.json').read_text())['config'] == name
