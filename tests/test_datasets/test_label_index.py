import json

import pytest

from mmcar.datasets.label_index import read_index, read_names
from mmcar.utils.errors import MissingFileError, UserError

ESCAPES = ['../evil.png', '/etc/evil.png', 'a/../../evil.png']


def write_index(tmp_path, kind, image, label):
    path = tmp_path / f'index.{kind}'
    if kind == 'csv':
        path.write_text(f'image,annotation\n{image},{label}\n')
    elif kind == 'txt':
        path.write_text(f'{image}\n{label}\n')
    else:
        entry = {'image': image, 'annotations': [label]}
        path.write_text(json.dumps([entry]))
    return str(path)


@pytest.mark.parametrize('kind', ['csv', 'json', 'txt'])
@pytest.mark.parametrize('name', [*ESCAPES, '.', 'a\0.png'])
def test_names_that_lead_out_or_nowhere_are_refused(tmp_path, kind, name):
    for image, label in ((name, 'a.png'), ('a.png', name)):
        path = write_index(tmp_path, kind, image, label)
        with pytest.raises(UserError, match=f'index.{kind}: ') as error:
            (read_names if kind == 'txt' else read_index)(path)
        assert name == '.' or name not in str(error.value)


@pytest.mark.parametrize(
    ('kind', 'content'),
    [
        ('json', b'[' * 100_000),
        ('json', b'[1e400]'),
        ('json', b'[{"image": 1e400, "annotations": []}]'),
        ('json', b'[{"image": "a.png", "annotations": "a/r1.png"}]'),
        ('json', b'[{"image": "a.png"}]'),
        ('json', b'{"image": "a.png"}'),
        ('json', b'7'),
        ('json', b''),
        ('json', bytes(range(256))),
        ('csv', bytes(range(256))),
        ('csv', b'image,annotation\n"' + b'a' * 200_000),
        ('csv', b'annotation,image\na.png\n'),
        ('csv', b'picture,mask\na.png,a/r1.png\n'),
        ('txt', bytes(range(256))),
    ],
)
def test_what_is_no_index_is_refused(tmp_path, kind, content):
    path = tmp_path / f'index.{kind}'
    path.write_bytes(content)
    with pytest.raises(UserError, match=f'index.{kind}: '):
        (read_names if kind == 'txt' else read_index)(str(path))


@pytest.mark.parametrize('kind', ['csv', 'json'])
def test_one_file_has_one_name(tmp_path, kind):
    path = write_index(tmp_path, kind, './p1//a.png', 'p1/./a/r0.png')
    assert read_index(path) == [('p1/a.png', ['p1/a/r0.png'])]


def test_marks_of_spreadsheets_are_no_part_of_a_name(tmp_path):
    path = tmp_path / 'index.csv'
    path.write_text('\ufeffimage,annotation\na.png,a/1.png\n')
    assert read_index(str(path)) == [('a.png', ['a/1.png'])]
    path = tmp_path / 'split.txt'
    path.write_text('\ufeffa\n\n b \n')
    assert read_names(str(path)) == ['a', 'b']


@pytest.mark.parametrize('read', [read_index, read_names])
def test_missing_files_are_named(read):
    with pytest.raises(MissingFileError, match=r'no\.csv: no such ann_file'):
        read('no.csv')
