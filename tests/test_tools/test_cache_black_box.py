import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.dataset import Compose
from mmseg.apis import inference_model, init_model
from mmseg.registry import MODELS

from mmcar.utils.errors import UserError

from ..test_datasets.samples import make_set, truncate, write
from .scripts import load_script

MODEL = dict(
    type='EncoderDecoder',
    data_preprocessor=dict(
        type='SegDataPreProcessor',
        mean=[100.0, 110.0, 120.0],
        std=[50.0, 60.0, 70.0],
        bgr_to_rgb=True,
    ),
    backbone=dict(
        type='ResNet',
        depth=18,
        base_channels=4,
        stem_channels=4,
        num_stages=1,
        strides=(1,),
        dilations=(1,),
        out_indices=(0,),
        norm_eval=True,
    ),
    decode_head=dict(
        type='FCNHead', in_channels=4, channels=4, num_convs=1, num_classes=3
    ),
    test_cfg=dict(mode='whole'),
)
PIPELINE = [dict(type='LoadImageFromFile'), dict(type='PackSegInputs')]


@pytest.fixture
def project(tmp_path):
    """A config, its checkpoint and a few images."""
    torch.manual_seed(0)
    config = tmp_path / 'config.py'
    loader = dict(dataset=dict(pipeline=PIPELINE))
    settings = dict(
        model=MODEL, test_pipeline=PIPELINE, test_dataloader=loader
    )
    config.write_text(Config(settings).dump())
    weights = MODELS.build(MODEL).state_dict()
    meta = {'dataset_meta': {'classes': 'abc', 'palette': [[0] * 3] * 3}}
    checkpoint = tmp_path / 'weights.pth'
    torch.save({'state_dict': weights, 'meta': meta}, checkpoint)
    make_set(tmp_path, ('a', 'b', 'c'), (1, 1, 1))
    return [str(config), str(checkpoint), str(tmp_path / 'out')]


def cache(project, tmp_path, *options):
    tool = load_script('cache_black_box.py')
    tool.main([*project, str(tmp_path / 'images/train'), *options])
    return sorted((tmp_path / 'out').rglob('*.npy'))


@pytest.mark.parametrize('dtype', ['float16', 'uint8'])
def test_files_hold_what_mmseg_predicts(project, tmp_path, dtype):
    files = cache(project, tmp_path, '--dtype', dtype)
    assert [f.name for f in files] == ['a.npy', 'b.npy', 'c.npy']
    model = init_model(*project[:2], device='cpu')
    load = Compose(
        [
            dict(type='LoadCheckedImage'),
            dict(
                type='LoadBlackBoxProbs',
                root=str(tmp_path / 'out'),
                num_classes=3,
            ),
            dict(type='PackStochasticInputs'),
        ]
    )
    for file in files:
        image = str(tmp_path / f'images/train/{file.stem}.png')
        expected = inference_model(model, image).seg_logits.data.softmax(0)
        assert expected.std() > 0.01
        assert np.load(file).dtype == dtype
        sample = load({'img_path': image})['data_samples']
        torch.testing.assert_close(
            sample.black_box_probs.data, expected, atol=4e-3, rtol=0
        )


def test_size_is_that_of_the_files(project, tmp_path):
    file = cache(project, tmp_path, '--size', '24', '32')[0]
    large = np.load(file)
    assert large.shape == (3, 12, 16)
    np.testing.assert_allclose(large.sum(0), 1, atol=2e-3)
    project[2] = str(tmp_path / 'own')
    load_script('cache_black_box.py').main(
        [*project, str(tmp_path / 'images/train')]
    )
    own = np.load(tmp_path / 'own/train/a.npy')
    assert 0 < np.abs(large - own).max() < 0.5


def test_it_goes_on_after_an_interruption(project, tmp_path, capsys):
    whole = {f: f.read_bytes() for f in cache(project, tmp_path)}
    first, second, third = whole
    first.unlink()
    second.rename(second.with_name('b.npy.part'))
    kept = third.stat().st_mtime_ns
    capsys.readouterr()
    again = {f: f.read_bytes() for f in cache(project, tmp_path)}
    assert again == whole and third.stat().st_mtime_ns == kept
    assert '2 of them written now' in capsys.readouterr().out
    assert not list((tmp_path / 'out').rglob('*.part'))
    with pytest.raises(ValueError, match='another folder'):
        cache(project, tmp_path, '--dtype', 'uint8')


def test_folders_below_keep_images_apart(project, tmp_path):
    for patient in ('p1', 'p2'):
        make_set(tmp_path, (f'{patient}/s/0',), (1,))
    files = cache(project, tmp_path)
    names = [str(f.relative_to(tmp_path / 'out/train')) for f in files]
    assert {'p1/s/0.npy', 'p2/s/0.npy'} < set(names)


def test_mistakes_are_named(project, tmp_path):
    with pytest.raises(UserError, match=r'both become .*train/a\.npy'):
        cache(project, tmp_path, str(tmp_path / 'images/train'))
    deep = np.full((12, 16), 999, np.uint16)
    write(tmp_path / 'images/train/aa.png', deep)
    with pytest.raises(UserError, match=r'aa\.png: uint16; expected'):
        cache(project, tmp_path)
    (tmp_path / 'images/train/aa.png').unlink()
    truncate(tmp_path / 'images/train/b.png')
    with pytest.raises(ValueError, match=r'b\.png: not a readable'):
        cache(project, tmp_path)
    with pytest.raises(UserError, match='none: no images'):
        cache(project, tmp_path, str(tmp_path / 'none'))
    project[1] = str(tmp_path / 'none.pth')
    with pytest.raises(FileNotFoundError, match=r'none\.pth'):
        cache(project, tmp_path)
