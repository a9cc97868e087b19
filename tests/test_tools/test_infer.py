import json

import numpy as np
import pytest
from PIL import Image

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


def test_a_folder_with_an_unreadable_image(tmp_path):
    config, weights = write_model(tmp_path, stock_config())
    write_images(tmp_path / 'in', ((16, 16), (16, 24), (16, 16)))
    (tmp_path / 'in' / '1b.png').write_bytes(b'no image')
    out = tmp_path / 'out'
    done = run(
        *(TOOL, config, weights, tmp_path / 'in', '--out-dir', out),
        *('--num-samples', 3, '--batch-size', 2, '--no-figures'),
    )
    assert done.returncode == 1, done.stderr
    assert 'in/1b.png: not a readable image' in done.stderr
    assert '3 of 4 images' in done.stdout
    assert 'Traceback' not in done.stderr
    summary = json.loads((out / 'summary.json').read_text())
    assert [image['name'] for image in summary['images']] == ['0', '1', '2']
    assert [image['name'] for image in summary['unreadable']] == ['1b']
    for name in ('0', '1', '2'):
        assert len(list((out / 'samples' / name).iterdir())) == 3
        shape = np.array(Image.open(out / 'decision' / f'{name}.png')).shape
        assert shape == ((16, 24) if name == '1' else (16, 16))
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


def test_an_output_folder_that_cannot_be_written(tmp_path):
    """Said before the model is even looked for."""
    image = write_images(tmp_path / 'in', ((16, 16),))[0]
    taken = tmp_path / 'taken'
    taken.write_text('a file')
    done = run(TOOL, 'no_config.py', image, '--out-dir', taken / 'out')
    assert done.returncode == 2
    assert 'no files can be written' in done.stderr


@pytest.mark.parametrize(
    ('given', 'option', 'expected'),
    [
        (['w.pth', 'a.png'], None, ('w.pth', ['a.png'])),
        (['a.png', 'b'], None, (None, ['a.png', 'b'])),
        (['a.png'], 'w.bin', ('w.bin', ['a.png'])),
    ],
)
def test_the_checkpoint_is_told_from_images(given, option, expected):
    assert load_script('infer.py').split_inputs(given, option) == expected


@pytest.mark.parametrize(
    ('given', 'option', 'message'),
    [
        (['w.pth'], None, 'No images behind w.pth'),
        (['a.png', 'w.pth'], None, 'right behind the config'),
        (['w.pth', 'a.png'], 'v.pth', 'More than one'),
        (['w.pth', 'v.pth', 'a.png'], None, 'More than one'),
    ],
)
def test_unclear_checkpoints_are_refused(given, option, message):
    with pytest.raises(ValueError, match=message):
        load_script('infer.py').split_inputs(given, option)
