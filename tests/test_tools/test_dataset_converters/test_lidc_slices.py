"""The converter of the public PNG copy of LIDC: files, splits, refusals."""

import io
import os
import tarfile
import zipfile
from collections import defaultdict

import cv2
import numpy as np
import pytest

from mmcar.utils.errors import UserError

from ..scripts import load_script
from .reading import read_split

KINDS = ('images', 'mask-0', 'mask-1', 'mask-2', 'mask-3')
# By hand: int(hashlib.sha256(b'LIDC-IDRI-0001').hexdigest(), 16) % 10 etc.
DIGITS = dict(enumerate(map(int, '72848421332477339618'), start=1))


@pytest.fixture(scope='module')
def tool():
    return load_script('dataset_converters/lidc_slices.py')


def png(pixels):
    return cv2.imencode('.png', np.asarray(pixels, np.uint8))[1].tobytes()


def slice_files(patient, nodule=0, number=0, drew=4, size=8):
    """Content by name; reader k < drew marks a square of side k + 1."""
    rng = np.random.default_rng([patient, nodule, number])
    maps = [rng.integers(0, 256, (size, size))]
    for reader in range(4):
        mask = np.zeros((size, size))
        if reader < drew:
            mask[: reader + 1, : reader + 1] = 255
        maps.append(mask)
    place = f'top/LIDC-IDRI-slices/LIDC-IDRI-{patient:04d}/nodule-{nodule}'
    names = [f'{place}/{kind}/slice-{number}.png' for kind in KINDS]
    return dict(zip(names, map(png, maps), strict=True))


@pytest.fixture(scope='module')
def all_files():
    """Twenty patients; one slice that nobody marked, some other files."""
    found = {'top/README.md': b'hello', 'top/._slice-0.png': b'x'}
    for patient in DIGITS:
        found |= slice_files(patient, drew=1 + patient % 4)
    found |= slice_files(5, nodule=1, number=10)
    return found | slice_files(3, nodule=2, drew=0)


@pytest.fixture
def files(all_files):
    return dict(all_files)


def as_folder(path, files):
    for name, content in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return path


def as_tar(path, files):
    with tarfile.open(path, 'w:gz') as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def as_zip(path, files):
    with zipfile.ZipFile(path, 'w') as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def contents(root):
    paths = [p for p in root.rglob('*') if p.is_file()]
    return {p.relative_to(root): p.read_bytes() for p in paths}


def test_folder_tar_and_zip_are_the_same(tool, tmp_path, files, capsys):
    found = []
    for make in (as_folder, as_tar, as_zip):
        source, out = tmp_path / f'{make.__name__}.source', make.__name__
        tool.main([str(make(source, files)), str(tmp_path / out)])
        said = capsys.readouterr().out
        assert '20 patients; 1 slices that no annotator marked' in said
        assert '21 slices (train 13, val 3, test 5)' in said
        found.append(contents(tmp_path / out))
    assert found[1:] == found[:1] * 2
    assert len(found[0]) == 21 * 5 + 3  # two lists and the settings


def test_each_patient_is_in_the_split_of_its_id(tool, tmp_path, files):
    tool.convert(as_folder(tmp_path / 'in', files), tmp_path / 'out')
    splits = defaultdict(set)
    for split in ('train', 'val', 'test'):
        data = read_split(tmp_path / 'out', split)
        for i in range(len(data)):
            splits[data.get_data_info(i)['patient']].add(split)
    names = 7 * ['train'] + ['val'] + 2 * ['test']
    ids = {f'LIDC-IDRI-{p:04d}': digit for p, digit in DIGITS.items()}
    assert splits == {p: {names[digit]} for p, digit in ids.items()}
    for name, wanted in (('train', range(6)), ('val', [6])):
        lines = (tmp_path / f'out/choose_{name}.txt').open()
        expected = {p for p, digit in ids.items() if digit in wanted}
        assert {line[:14] for line in lines} == expected


def test_pixels_arrive_and_an_interrupted_run_goes_on(
    tool, tmp_path, files, capsys
):
    out = tmp_path / 'out'
    source = as_tar(tmp_path / 'slices.tar', files)
    tool.convert(source, out)
    whole = contents(out)
    name = 'LIDC-IDRI-0005/nodule-1/slice-10'
    place = 'top/LIDC-IDRI-slices/LIDC-IDRI-0005/nodule-1'
    for kind in KINDS:
        given = decoded(files[f'{place}/{kind}/slice-10.png'])
        if kind == 'images':
            image = cv2.imread(f'{out}/images/test/{name}.png', 0)
            assert (image == given).all()
        else:
            mask = f'{out}/annotations/test/{name}/r{kind[-1]}.png'
            assert (cv2.imread(mask, 0) == given // 255).all()
    (out / f'images/test/{name}.png').unlink()
    assert '1 of them written now' in tool.convert(source, out)
    assert contents(out) == whole
    fewer = {k: v for k, v in files.items() if 'IDRI-0005' not in k}
    with pytest.raises(UserError, match='another folder'):
        tool.convert(as_folder(tmp_path / 'fewer', fewer), out)


def decoded(data):
    return cv2.imdecode(np.frombuffer(data, np.uint8), 0)


PLACE = 'top/LIDC-IDRI-slices/LIDC-IDRI-0001/nodule-0'


@pytest.mark.parametrize(
    ('kind', 'content', 'message'),
    [
        ('images', None, 'nodule-0/slice-0: without images'),
        ('mask-1', png(np.ones((8, 8)))[:45], 'mask-1: not a readable'),
        ('mask-1', png(np.full((8, 8), 3)), r'values \[3\]'),
        ('mask-3', png(np.zeros((9, 8))), r'\(9, 8\) pixels; expected'),
        ('images', png(np.zeros((8, 8, 3))), 'mode RGB; expected 8-bit'),
        ('images', png(np.zeros((513, 513))), 'at most 512 a side'),
        ('mask-0', bytes(2**20 + 1), 'at most 1048576'),
    ],
)
def test_bad_files_are_named(tool, tmp_path, files, kind, content, message):
    name = f'{PLACE}/{kind}/slice-0.png'
    changed = {**files, name: content}
    if content is None:
        del changed[name]
    source = as_folder(tmp_path / 'in', changed)
    with pytest.raises(UserError, match=message) as error:
        tool.convert(source, tmp_path / 'out')
    assert 'LIDC-IDRI-0001/nodule-0' in str(error.value)
    assert not (tmp_path / 'out').exists()


def test_links_are_refused(tool, tmp_path, files):
    secret = tmp_path / 'secret.png'
    secret.write_bytes(png(np.zeros((8, 8))))
    name = f'{PLACE}/mask-0/slice-0.png'
    folder = as_folder(tmp_path / 'in', files)
    (folder / name).unlink()
    os.symlink(secret, folder / name)
    archive = tmp_path / 'links.tar'
    with tarfile.open(archive, 'w') as tar:
        tar.add(folder, '')
    packed = tmp_path / 'links.zip'
    with zipfile.ZipFile(packed, 'w') as zipped:
        for other, content in files.items():
            info = zipfile.ZipInfo(other)
            mode = 0o120777 if other == name else 0o100644
            info.external_attr = mode << 16
            zipped.writestr(info, content)
    elsewhere = as_folder(tmp_path / 'elsewhere', slice_files(21))
    os.symlink(elsewhere, folder / 'linked')  # is not entered
    for source in (folder, archive, packed):
        with pytest.raises(UserError, match=r'mask-0/slice-0.png: a link'):
            tool.convert(source, tmp_path / 'out')


def test_names_that_lead_out_stay_inside(tool, tmp_path):
    files = {f'../../{k}': v for k, v in slice_files(1).items()}
    files |= {f'/etc/{k}': v for k, v in slice_files(2).items()}
    out = tmp_path / 'deep' / 'out'
    tool.convert(as_tar(tmp_path / 'x.tar', files), out)
    stray = [p for p in tmp_path.rglob('*.png') if out not in p.parents]
    assert not stray and len(contents(out)) == 2 * 5 + 2


def test_what_is_no_source(tool, tmp_path, files):
    copy = {k.replace('top/', 'copy/'): v for k, v in slice_files(1).items()}
    twice = as_zip(tmp_path / 'twice.zip', files | copy)
    whole = as_tar(tmp_path / 'whole.tar.gz', files).read_bytes()
    cut, text, empty = (tmp_path / name for name in ('cut', 'text', 'empty'))
    cut.write_bytes(whole[: len(whole) // 2])
    text.write_text('no archive')
    empty.mkdir()
    for source, message in (
        (cut, 'download it again'),
        (text, 'download it again'),
        (empty, 'expected the layout'),
        (tmp_path / 'none', 'expected a folder or an archive'),
        (twice, 'the second of that slice'),
    ):
        with pytest.raises(UserError, match=message):
            tool.convert(source, tmp_path / 'out')
    assert not (tmp_path / 'out').exists()
