"""A project outside this repository, run by MMSegmentation's own tools."""

from pathlib import Path

import mmcv
import mmseg
import pytest
import torch
from mmengine.config import Config
from mmseg.apis import (
    MMSegInferencer,
    inference_model,
    init_model,
    show_result_pyplot,
)
from packaging.version import Version

from mmcar.datasets import LIDCDataset
from tests.forking import ROOT, run_fresh
from tests.test_tools.project import tiny_settings, write_data
from tests.toys import toy_parts

MIM = Path(mmseg.__file__).parent / '.mim'
TOOLS = MIM / 'tools'
# The forks' MMEngine finds stock configs only once mmcar is imported, and
# MMSeg's tools read the config before that.
STOCK = (
    'mmseg::'
    if Version(mmseg.__version__) < Version('1.3')
    else f'{MIM}/configs/'
)


def write_project(folder: Path) -> Path:
    """Write a project with a config of its own; return the config's path."""
    write_data(folder / 'data')
    settings = tiny_settings(Path('data'))
    settings['model']['decode_head']['black_box'] = dict(
        type='BlackBox',
        segmentor=dict(
            **toy_parts(num_classes=2),
            type='EncoderDecoder',
            test_cfg=dict(mode='whole'),
        ),
    )
    # What a base config says of these belongs to another kind of training.
    for key in ('model', 'optim_wrapper', 'train_cfg', 'test_cfg'):
        settings[key]['_delete_'] = True
    settings['param_scheduler'] = None
    bases = [
        f'{STOCK}_base_/models/fcn_unet_s5-d16.py',
        f'{STOCK}_base_/default_runtime.py',
        f'{STOCK}_base_/schedules/schedule_20k.py',
    ]
    path = folder / 'my_config.py'
    path.write_text(
        f'_base_ = {bases}\n'
        "custom_imports = dict(imports=['mmcar'])\n"
        'val_cfg = None\n'
        'default_hooks = dict(checkpoint=dict(interval=8))\n'
        + Config(settings).dump()
    )
    return path


def test_trains_and_tests_a_car_model(tmp_path):
    config = write_project(tmp_path)
    work_dir = tmp_path / 'work_dirs' / 'my_config'
    trained = run_fresh(TOOLS / 'train.py', config, cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    checkpoint = work_dir / 'iter_8.pth'
    tested = run_fresh(TOOLS / 'test.py', config, checkpoint, cwd=tmp_path)
    assert tested.returncode == 0, tested.stderr
    assert 'GED_3' in tested.stdout + tested.stderr


def test_mmseg_inferencer_and_its_figure(tmp_path):
    """Paths and arrays; an image of 16 bits must not be clipped."""
    write_data(tmp_path, images=1, size=64)
    config = ROOT / 'configs' / 'quickstart' / 'car_lidc-shapes.py'
    model = init_model(str(config), device='cpu')
    meta = dict(dataset_meta=LIDCDataset.METAINFO)
    checkpoint = tmp_path / 'model.pth'
    torch.save(dict(state_dict=model.state_dict(), meta=meta), checkpoint)
    inferencer = MMSegInferencer(str(config), str(checkpoint), device='cpu')
    image = tmp_path / 'images/val/0.png'
    array = mmcv.imread(str(image))
    for given in (str(image), array):
        found = inferencer(given, return_datasamples=True)
        assert found.pred_samples.data.shape == (16, 64, 64)
    deep = tmp_path / 'deep.png'
    mmcv.imwrite(array.astype('uint16') * 200, str(deep))
    with pytest.raises(ValueError, match='uint16'):
        inferencer(str(deep))
    model = init_model(str(config), str(checkpoint), device='cpu')
    result = inference_model(model, str(image))
    drawn = tmp_path / 'drawn.png'
    show_result_pyplot(
        model, str(image), result, show=False, out_file=str(drawn)
    )
    assert drawn.stat().st_size > 1000
