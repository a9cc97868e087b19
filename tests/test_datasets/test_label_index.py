import json

import pytest

from mmcar.datasets.label_index import read_index, read_names
from mmcar.utils.errors import MissingFileError, UserError

ESCAPES = ['../evil.png', '/etc/evil.png', 'a/../../evil.png']


def write_index(tmp_path, kind, image, label):
    path = tmp_path / f'index.{kind}'
    if kind == 'csv':
        path.write_text(f'image,annotation\n{image},{label}\n')
    else:
        entry = {'image': image, 'annotations': [label]}
        path.write_text(json.dumps([entry]))
    return str(path)


@pytest.mark.parametrize('kind', ['csv', 'json'])
@pytest.mark.parametrize('name', ESCAPES)
def test_names_that_lead_out_are_refused(tmp_path, kind, name):
    for image, label in ((name, 'a.png'), ('a.png', name)):
        path = write_index(tmp_path, kind, image, label)
        with pytest.raises(UserError, match=f'index.{kind}: .*leads out'):
            read_index(path)


@pytest.mark.parametrize('name', ESCAPES)
def test_names_in_a_list_that_lead_out_are_refused(tmp_path, name):
    path = tmp_path / 'split.txt'
    path.write_text(f'a\n{name}\n')
    with pytest.raises(UserError, match=r'split\.txt: .*leads out'):
        read_names(str(path))


@pytest.mark.parametrize('kind', ['csv', 'json'])
@pytest.mark.parametrize('name', ['', '.'])
def test_empty_names_are_refused(tmp_path, kind, name):
    path = write_index(tmp_path, kind, name, 'a.png')
    with pytest.raises(UserError, match=f"index.{kind}: '{name}' is no name"):
        read_index(path)


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


def test_what_is_no_path_is_refused(tmp_path):
    path = write_index(tmp_path, 'json', 3, 'a.png')
    with pytest.raises(UserError, match='3 is no path'):
        read_index(path)


@pytest.mark.parametrize('read', [read_index, read_names])
def test_missing_files_are_named(read):
    with pytest.raises(MissingFileError, match=r'no\.csv: no such ann_file'):
        read('no.csv')
