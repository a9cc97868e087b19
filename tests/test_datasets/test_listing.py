import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcar.datasets.label_files import LABEL_SUFFIXES
from mmcar.datasets.listing import (
    find_unpaired,
    group_labels,
    list_files,
    match_files,
    read_index,
    read_names,
)
from mmcar.utils.errors import MissingFileError, UserError
from mmcar.utils.files import IMAGE_SUFFIXES


def touch(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def scan(root):
    images = list_files(str(root / 'images'), IMAGE_SUFFIXES)
    labels = list_files(str(root / 'labels'), LABEL_SUFFIXES)
    pairs, problems = match_files(images, labels)
    return pairs, dict(problems + find_unpaired(pairs, images, labels))


@settings(max_examples=40, deadline=None)
@given(
    stems=st.sets(
        st.from_regex(r'(p[12]/)?[ab]{1,2}(_l[01])?', fullmatch=True),
        min_size=1,
        max_size=8,
    ),
    counts=st.lists(st.integers(1, 11), min_size=8, max_size=8),
    layout=st.sampled_from(('folders', 'side')),
)
def test_every_label_finds_its_image(stems, counts, layout):
    # A stem may neither be another's label nor another's folder.
    stems = sorted(
        s
        for s in stems
        if layout == 'folders' or not s.endswith(('_l0', '_l1'))
    )
    if not stems:
        return
    name = {'folders': '{}/r{}.png', 'side': '{}_l{}.tif'}[layout]
    owned = {
        stem: [name.format(stem, a) for a in range(n)]
        for stem, n in zip(stems, counts, strict=False)
    }
    files = sorted(file for labels in owned.values() for file in labels)
    assert group_labels(files, stems) == owned


def test_suffixes_of_all_kinds_are_found(tmp_path):
    images = ('a.ppm', 'b.PGM', 'c.gif', 'd.tif', 'e.TIFF', 'f.JPG', 'g.webp')
    labels = ('a.png', 'b.PNG', 'c.gif', 'd.tif', 'e/1.Tiff', 'f.bmp', 'g.pgm')
    touch(tmp_path / 'images', *images)
    touch(tmp_path / 'labels', *labels)
    pairs, problems = scan(tmp_path)
    assert problems == {}
    assert pairs == [(i, [x]) for i, x in zip(images, labels, strict=True)]


@pytest.mark.parametrize(
    ('images', 'labels', 'files'),
    [
        (('a.dcm',), ('a_l0.png',), ('labels/a_l0.png', 'images')),
        (('a.png',), ('a/x.JPEG',), ('images/a.png',)),
        (
            ('a.png', 'b.png'),
            ('b.png', 'c.png'),
            ('images/a.png', 'labels/c.png'),
        ),
        (('a.png',), ('a/1.png', 'a/1.tif'), ('images/a.png',)),
        (('a.png', 'a.tif'), ('a.png',), ('images/a',)),
    ],
)
def test_files_that_do_not_fit_are_named(tmp_path, images, labels, files):
    touch(tmp_path / 'images', *images)
    touch(tmp_path / 'labels', *labels)
    assert set(scan(tmp_path)[1]) == {str(tmp_path / file) for file in files}


def test_links(tmp_path):
    """Those that lead nowhere are named, those that lead back not entered."""
    touch(tmp_path / 'images', 'a.png', 'p/b.png')
    touch(tmp_path / 'labels', 'a.png', 'p/b.png', 'c.png', 'd.png')
    (tmp_path / 'images/c.png').symlink_to('nowhere.png')
    (tmp_path / 'images/d.png').symlink_to('d.png')
    (tmp_path / 'images/p/back').symlink_to('..')
    (tmp_path / 'images/elsewhere').symlink_to(tmp_path / 'more')
    touch(tmp_path / 'more', 'e.png')
    touch(tmp_path / 'labels/elsewhere', 'e.png')
    pairs, problems = scan(tmp_path)
    assert [image for image, _ in pairs] == [
        *('a.png', 'c.png', 'd.png', 'elsewhere/e.png', 'p/b.png')
    ]
    assert set(problems) == {str(tmp_path / f'images/{s}.png') for s in 'cd'}


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
        ('json', b'[{"image": 1e400, "annotations": []}]'),
        ('json', b'[{"image": "a.png", "annotations": "a/r1.png"}]'),
        ('json', b'[{"image": "a.png"}]'),
        ('json', b'{"image": "a.png"}'),
        ('csv', bytes(range(256))),
        ('csv', b'image,annotation\n"' + b'a' * 200_000),
        ('csv', b'picture,mask\na.png,a/r1.png\n'),
        ('txt', bytes(range(256))),
    ],
)
def test_what_is_no_index_is_refused(tmp_path, kind, content):
    path = tmp_path / f'index.{kind}'
    path.write_bytes(content)
    with pytest.raises(UserError, match=f'index.{kind}: '):
        (read_names if kind == 'txt' else read_index)(str(path))


def test_spellings_of_one_name(tmp_path):
    """Marks of spreadsheets are no part of it."""
    for kind in ('csv', 'json'):
        path = write_index(tmp_path, kind, './p1//a.png', 'p1/./a/r0.png')
        assert read_index(path) == ([('p1/a.png', ['p1/a/r0.png'])], {})
    path = tmp_path / 'index.csv'
    path.write_text('\ufeffimage,annotation\na.png,a/1.png\n')
    assert read_index(str(path)) == ([('a.png', ['a/1.png'])], {})
    path.write_text('\ufeffa\n\n b \n')
    assert read_names(str(path)) == ['a', 'b']
    path.unlink()
    for read in (read_index, read_names):
        with pytest.raises(MissingFileError, match=r'index\.csv'):
            read(str(path))
