"""Which files belong together, by names alone."""

from collections import Counter

import pytest

from mmcar.datasets.folder_pairs import Entry, pair_folder, with_splits
from mmcar.utils.errors import UserError

from .folders import LAYOUTS, paint


@pytest.mark.parametrize('layout', LAYOUTS)
def test_every_layout_pairs_each_image_with_its_own_maps(tmp_path, layout):
    annotators = (1,) if layout == 'single' else (2, 3)
    paint(tmp_path, layout, 6, annotators)
    found = pair_folder(tmp_path)
    assert not found.problems and not found.doubts
    entries = sorted(found.entries)
    assert len(entries) == 6
    for i, entry in enumerate(sorted(entries, key=lambda e: stem_in(e.image))):
        assert stem_in(entry.image) == f'case{i:02d}'
        assert len(entry.labels) == annotators[i % len(annotators)]
        assert {stem_in(label) for label in entry.labels} == {f'case{i:02d}'}
    splits = Counter(entry.split for entry in entries)
    expected = {
        'ours': {'train': 2, 'val': 2, 'test': 2},
        'splits first': {'train': 6},
    }
    assert splits == expected.get(layout, {None: 6})


def stem_in(path):
    start = path.index('case')
    return path[start : start + 6]


@pytest.mark.parametrize(
    'names',
    [
        'images/image_{}.png masks/mask_{}.png',
        'images/{}_img.png masks/{}_mask.png',
        'scan-{}.png mask-{}_a.png mask-{}_b.png',
    ],
)
def test_names_may_say_what_a_file_is(tmp_path, names):
    for stem in '012':
        image, *labels = names.format(*stem * 3).split()
        for name in (image, *labels):
            touch(tmp_path / name)
    found = pair_folder(tmp_path)
    assert not found.problems
    assert found.entries[-1] == Entry(image, labels)


def test_annotators_may_be_called_as_images_are(tmp_path):
    for stem in ('0', '1', '2'):
        touch(tmp_path / f'images/{stem}.png')
        for annotator in ('0', '1'):
            touch(tmp_path / f'masks/{annotator}/{stem}.png')
    for entry in pair_folder(tmp_path).entries:
        name = entry.image.removeprefix('images/')
        assert [*entry.labels] == [f'masks/{a}/{name}' for a in (0, 1)]


@pytest.mark.parametrize('folder', ['', 'images/'])
def test_an_index_says_what_names_do_not(tmp_path, folder):
    for name in ('x', 'y'):
        touch(tmp_path / folder / f'{name}.png')
        touch(tmp_path / f'annotations/of_{name}.png')
    (tmp_path / 'train.csv').write_text(
        'image,annotation,patient\nx.png,of_y.png,p1\nx.png,of_x.png,p1\n'
    )
    (tmp_path / 'val.csv').write_text('image,annotation\ny.png,of_y.png\n')
    (tmp_path / 'readme.csv').write_text('a,b\n1,2\n')
    found = pair_folder(tmp_path)
    labels = ['annotations/of_y.png', 'annotations/of_x.png']
    assert found.entries == [
        Entry(f'{folder}x.png', labels, 'train', 'p1'),
        Entry(f'{folder}y.png', labels[:1], 'val'),
    ]
    assert [path for path, _ in found.doubts] == [str(tmp_path / 'readme.csv')]


def test_what_is_left_over_is_named(tmp_path):
    ((path, _),) = pair_folder(tmp_path).problems
    assert path == str(tmp_path)
    paint(tmp_path, 'masks by annotator', 4)
    left = [tmp_path / 'masks_a/unknown.png', tmp_path / 'images/alone.png']
    for path in left:
        touch(path)
    files = {path for path, _ in pair_folder(tmp_path).problems}
    assert files == {*map(str, left)}


@pytest.mark.parametrize(
    ('names', 'patient'),
    [
        (['images/p{}/a.png', 'images/p{}/b.png'], 'p{}'),
        (['images/LIDC_{}_n1_s1.png', 'images/LIDC_{}_n2_s1.png'], 'LIDC_{}'),
        (['images/img_{}.png', 'images/photo_{}.png'], None),
    ],
)
def test_patients_by_folder_or_prefix(tmp_path, names, patient):
    for i in range(5):
        for name in names:
            path = name.format(i)
            touch(tmp_path / path)
            touch(tmp_path / path.replace('images', 'masks'))
    found = {e.image: e.patient for e in pair_folder(tmp_path).entries}
    assert len(found) == 10
    for i in range(5):
        for name in names:
            expected = patient and patient.format(i)
            assert found[name.format(i)] == expected


def test_splits_keep_patients_together_and_are_always_the_same():
    entries = [
        Entry(f'{p}_{i}.png', ['m'], patient=f'p{p}')
        for p in range(20)
        for i in range(p % 3 + 1)
    ]
    found = with_splits(entries)
    assert [e._replace(split=None) for e in found] == entries
    by_patient = {e.patient: e.split for e in found}
    assert all(by_patient[e.patient] == e.split for e in found)
    again = with_splits(entries[::-1])
    assert {e.patient: e.split for e in again} == by_patient
    shares = Counter(e.split for e in found)
    assert shares['train'] > 0.6 * len(entries)
    assert min(shares['val'], shares['test']) > 0.1 * len(entries)
    with pytest.raises(UserError, match='train'):
        with_splits(entries[:4])


@pytest.mark.parametrize(
    ('given', 'source'),
    [(('train', 'val'), 'val'), (('train', 'test'), 'train')],
)
def test_a_missing_split_is_taken_from_another(given, source):
    entries = [
        Entry(f'{split}{i}.png', ['m'], split)
        for split in given
        for i in range(10)
    ]
    found = with_splits(entries)
    moved = [
        (old.split, new.split)
        for old, new in zip(entries, found, strict=True)
        if old.split != new.split
    ]
    (missing,) = {'train', 'val', 'test'} - {*given}
    assert {*moved} == {(source, missing)} and len(moved) >= 2


def touch(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
