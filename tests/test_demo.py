"""The demo: what ships with the repository, and that it works."""

import json
import shutil

import cv2
import numpy as np
import pytest
import torch
from PIL import Image

from tests.test_tools.project import ROOT, run
from tests.test_tools.scripts import load_script

DEMO = ROOT / 'demo'
IMAGES = sorted((DEMO / 'images' / 'test').glob('*.png'))
CONFIG = DEMO / 'car_simulated.py'


def checkpoint():
    (path,) = DEMO.glob('car_simulated-*.pth')
    return path


def test_the_model_is_small_and_holds_weights_alone():
    path = checkpoint()
    assert path.stat().st_size <= 2e6
    loaded = torch.load(path, weights_only=True)
    assert set(loaded) == {'meta', 'state_dict'}
    assert 'cfg' not in loaded['meta']
    weights = loaded['state_dict'].items()
    assert all(w.dtype == torch.float16 for _, w in weights if w.ndim > 1)


@pytest.mark.parametrize('path', IMAGES, ids=lambda path: path.stem)
def test_images_and_readers_are_simulated(path):
    """They are what the documented command makes, to a rounding."""
    rng = np.random.default_rng([0, int(path.stem[:5])])
    tool = load_script('dataset_converters/simulated_nodules.py')
    image, masks, kind = tool.simulate_nodule(rng, 96)
    assert path.stem.endswith(kind)
    shipped = cv2.imread(str(path), cv2.IMREAD_UNCHANGED).astype(int)
    assert np.abs(shipped - image).max() <= 1
    for reader, mask in enumerate(masks):
        file = DEMO / 'annotations' / 'test' / path.stem / f'r{reader}.png'
        drawn = cv2.imread(str(file), cv2.IMREAD_UNCHANGED)
        assert (drawn != mask).mean() < 1e-3


def test_what_make_demo_runs(tmp_path):
    folder = IMAGES[0].parent
    tool = ROOT / 'tools' / 'infer.py'
    result = run(tool, CONFIG, checkpoint(), folder, '--out-dir', tmp_path)
    assert result.returncode == 0, result.stderr
    assert 'Warning' not in result.stderr
    summary = json.loads((tmp_path / 'summary.json').read_text())
    clear, halo, faint = (
        next(i for i in summary['images'] if kind in i['name'])
        for kind in ('clear', 'halo', 'faint')
    )
    shares = {
        i['name']: [h['probability'] for h in i['hypotheses']]
        for i in (clear, halo, faint)
    }
    assert shares[clear['name']][0] > 0.85, shares
    assert 0.2 <= shares[halo['name']][1] <= 0.5, shares
    assert sum(shares[halo['name']][:2]) > 0.9, shares
    empty = [
        not np.array(Image.open(file)).any()  # ids, not colours
        for file in (tmp_path / 'samples' / faint['name']).glob('*.png')
    ]
    assert 0.2 < np.mean(empty) < 0.8


@pytest.mark.slow
def test_the_notebook(tmp_path):
    nbclient = pytest.importorskip(
        'nbclient', reason='needs requirements/notebook.txt'
    )
    nbformat = pytest.importorskip('nbformat')
    pytest.importorskip('ipykernel')
    for name in ('demo', 'tools', 'configs', 'mmcar'):
        shutil.copytree(
            ROOT / name,
            tmp_path / name,
            ignore=shutil.ignore_patterns('__*__'),
        )
    path = tmp_path / 'demo' / 'stochastic_segmentation.ipynb'
    notebook = nbformat.read(path, 4)
    assert not any(cell.get('outputs') for cell in notebook.cells)
    nbclient.NotebookClient(
        notebook,
        timeout=1800,
        kernel_name='python3',
        resources=dict(metadata=dict(path=str(path.parent))),
    ).execute()
    outputs = [o for cell in notebook.cells for o in cell.get('outputs', [])]
    said = '\n'.join(output.get('text', '') for output in outputs)
    for expected in ('Temperature:', 'GED_16', '00037_halo', 'ECE'):
        assert expected in said, said
    assert 'error' not in said.lower(), said
    assert sum('image/png' in o.get('data', {}) for o in outputs) == 4
