from pathlib import Path

import numpy as np
import pytest
from mmengine.config import Config
from mmseg.registry import DATASETS

from mmcar.datasets import CamVidFlipsDataset, Cityscapes24Dataset
from mmcar.utils.errors import UserError

from .samples import write

CONFIGS = Path(__file__).parents[2] / 'configs/_base_/datasets'
CITIES = ('aachen', 'darmstadt', 'monchengladbach', 'ulm')


def make_cityscapes(root, size=(32, 64)):
    rng = np.random.default_rng(0)
    for split, cities in {'train': CITIES, 'val': ('munster',)}.items():
        for city in cities:
            stem = f'{split}/{city}/{city}_000000_000019'
            image = rng.integers(0, 256, (*size, 3), np.uint8)
            label = rng.choice([0, 1, 8, 11, 13, 18, 255], size)
            for folder in (root, root / '256x512'):  # copies as large
                write(folder / f'leftImg8bit/{stem}_leftImg8bit.png', image)
                write(
                    folder / f'gtFine/{stem}_gtFine_labelTrainIds.png',
                    label.astype(np.uint8),
                )
    return root


@pytest.mark.parametrize(
    ('kind', 'number', 'ids'),
    [
        (Cityscapes24Dataset, 19, (1, 11, 13, 8, 0)),
        (CamVidFlipsDataset, 11, (4, 9, 8, 5, 3)),
    ],
)
def test_tables_are_those_of_the_paper(kind, number, ids):
    """Sidewalk, person, car, vegetation and road, with twins at the end."""
    flips = kind.METAINFO['class_flips']
    assert [row[:2] for row in flips] == list(
        zip(ids, range(number, number + 5), strict=True)
    )
    np.testing.assert_allclose([17 * p for *_, p in flips], [8, 7, 6, 5, 4])
    assert len(kind.METAINFO['classes']) == number + 5
    assert len({tuple(c) for c in kind.METAINFO['palette']}) == number + 5


def test_cityscapes24_config_flips_in_training_only(tmp_path):
    config = Config.fromfile(f'{CONFIGS}/cityscapes24.py')
    samples = {}
    for split in ('train', 'val'):
        options = config[f'{split}_dataloader'].dataset
        options.data_root = str(make_cityscapes(tmp_path))
        samples[split] = DATASETS.build(options)
    np.random.seed(0)
    seen = set()
    for _ in range(20):
        packed = samples['train'][0]
        assert packed['inputs'].shape == (3, 128, 128)
        sample = packed['data_samples']
        base, drawn = sample.gt_sem_segs.data[0], sample.gt_sem_seg.data[0]
        assert set(base.unique().tolist()) <= {0, 1, 8, 11, 13, 18, 255}
        twin_of = {c: t for c, t, _ in sample.class_flips}
        for c in base.unique().tolist():
            (value,) = drawn[base == c].unique().tolist()
            assert value in (c, twin_of.get(c))
            seen.add(value)
    assert {19, 20, 21, 22, 23} <= seen
    sample = samples['val'][0]['data_samples']
    assert sample.gt_sem_seg.data.shape == (1, 256, 512)
    assert sample.ori_shape == (256, 512)
    assert sample.gt_sem_seg.data.equal(sample.gt_sem_segs.data.long())
    assert len(sample.class_flips) == 5


def build_cities(root, **options):
    return Cityscapes24Dataset(
        data_root=str(root),
        data_prefix={
            'img_path': 'leftImg8bit/train',
            'seg_map_path': 'gtFine/train',
        },
        **options,
    )


def test_keys_indices_and_held_out_cities(tmp_path):
    with pytest.raises(FileNotFoundError, match='leftImg8bit/train'):
        build_cities(tmp_path)
    make_cityscapes(tmp_path)
    first, *others = CITIES
    for filter_cfg, number in (
        (dict(without_cities=others), 1),
        (dict(cities=others), 3),
        (None, 4),
    ):
        assert len(build_cities(tmp_path, filter_cfg=filter_cfg)) == number
    data = build_cities(tmp_path, indices=[0, 3])
    keys = [data.get_data_info(i)['sample_key'] for i in range(2)]
    stem = 'train/{0}/{0}_000000_000019_leftImg8bit.png'
    assert keys == [stem.format(first), stem.format(CITIES[3])]
    for options, message in (
        (dict(indices=[4]), r'train: \d images'),
        (dict(indices=2, filter_cfg=dict(cities=[first])), r'\d images'),
        (dict(filter_cfg=dict(cities=['Ulm'])), r"no images of \['Ulm'\]"),
        (dict(filter_cfg=dict(city=['ulm'])), 'expected'),
    ):
        with pytest.raises(UserError, match=message):
            build_cities(tmp_path, **options)


def test_camvid_unlabelled_is_ignored_before_flips(real_data):
    config = Config.fromfile(f'{CONFIGS}/camvid_flips.py')
    sizes = {}
    for split in ('train', 'val'):
        options = config[f'{split}_dataloader'].dataset
        options.data_root = str(real_data / 'camvid')
        data = DATASETS.build(options)
        sizes[split] = len(data)
        base = data[0]['data_samples'].gt_sem_segs.data
        assert set(base.unique().tolist()) <= {*range(11), 255}
        assert (base == 255).any()
    assert sizes == {'train': 367, 'val': 101}


@pytest.mark.parametrize('value', [1, 255])
def test_crops_as_published(tmp_path, value):
    """images/<patient>/*.png and gt/<patient>/*_l{0..3}.png, any values."""
    for split in ('train', 'test'):
        for patient in ('LIDC-IDRI-0001', 'LIDC-IDRI-0002'):
            folder = tmp_path / split
            name = f'{patient}/z-105.0_c0'
            image = np.full((180, 180), 90, np.uint8)
            write(folder / f'images/{name}.png', image)
            for reader in range(4):
                mask = np.zeros((180, 180), np.uint8)
                mask[60 : 70 + reader, 80:95] = value
                write(folder / f'gt/{name}_l{reader}.png', mask)
    config = Config.fromfile(f'{CONFIGS}/lidc.py')
    for split in ('train', 'test'):
        options = config[f'{split}_dataloader'].dataset
        options.data_root = str(tmp_path)
        data = DATASETS.build(options)
        assert len(data) == 2
        assert data.get_data_info(1)['patient'] == 'LIDC-IDRI-0002'
        packed = data[0]
        labels = packed['data_samples'].gt_sem_segs.data
        assert packed['inputs'].shape == (3, 128, 128)
        assert labels.shape == (4, 128, 128)
        assert labels.sum((1, 2)).tolist() == [150, 165, 180, 195]
        assert packed['data_samples'].ori_shape == (128, 128)
    uid = '1.3.6.1.4.1.14519.5.2.1.6279'
    assert data._record(f'{uid}_00012.png', [])['patient'] == uid
