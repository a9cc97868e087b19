import json

import cv2
import numpy as np
import pytest

from mmcar.datasets import MultiAnnotatorDataset, MultiAnnotatorWriter
from mmcar.utils.errors import UserError

from .samples import CLASSES, PREFIX, make_set, truncate, write

STEPS = ('LoadCheckedImage', 'LoadMultiAnnotations', 'PackStochasticInputs')
DRAW = [{'type': step} for step in STEPS]
ALL = [DRAW[0], {**DRAW[1], 'draw': False}, DRAW[2]]


def build(root, **options):
    options = {'metainfo': CLASSES, 'data_prefix': PREFIX, **options}
    return MultiAnnotatorDataset(data_root=str(root), **options)


@pytest.mark.parametrize('layout', ['folders', 'side'])
def test_both_layouts_give_every_annotator(tmp_path, layout):
    stems = ('p1/a', 'p2/a', 'p2/b')
    root = make_set(tmp_path, stems, (1, 4, 11), layout)
    data = build(root, pipeline=ALL)
    assert len(data) == 3
    for i, (stem, count) in enumerate(zip(stems, (1, 4, 11), strict=True)):
        sample = data[i]['data_samples']
        assert sample.img_path.endswith(f'{stem}.png')
        name = '{}/r{}.png' if layout == 'folders' else '{}_l{}.png'
        folder = root / 'annotations/train'
        paths = [folder / name.format(stem, a) for a in range(count)]
        expected = np.stack([cv2.imread(str(path), 0) for path in paths])
        np.testing.assert_array_equal(sample.gt_sem_segs.data, expected)


def test_index_files_name_images_and_annotators(tmp_path):
    root = make_set(tmp_path, ('a', 'b'), (2, 3))
    entry = {'image': 'a.png', 'annotations': ['a/r1.png', 'b/r0.png']}
    (root / 'index.json').write_text(json.dumps([entry]))
    text = 'image,annotation,patient\n./a.png,a/r1.png,p7\na.png,b/r0.png,\n'
    (root / 'index.csv').write_text(text)
    for name in ('index.json', 'index.csv'):
        (record,) = build(root, ann_file=name, serialize_data=False).data_list
        assert record['img_path'] == f'{root}/images/train/a.png'
        assert record['seg_map_paths'] == [
            f'{root}/annotations/train/{name}' for name in entry['annotations']
        ]
    assert record['patient'] == 'p7'
    for text in ('a.png\n', 'a.png,a/r1.png\na.png,a/r1.png\n'):
        (root / 'index.csv').write_text(f'image,annotation\n{text}')
        with pytest.raises(UserError, match=r'train/a\.png: '):
            build(root, ann_file='index.csv')


def test_text_file_selects_stems(tmp_path):
    root = make_set(tmp_path)
    for text in ('b\n', 'b.png\n'):
        (root / 'split.txt').write_text(text)
        (record,) = build(root, ann_file='split.txt').load_data_list()
        assert record['img_path'].endswith('train/b.png')
    for text, message in (
        ('b\na\nb\n', 'train/b: 2 images'),
        ('b\nb.png\n', 'train/b: 2 images'),
        ('b\nc\n', r'train/c: no image .*split\.txt'),
        ('user:secret\n', r'split\.txt(?!.*secret)'),  # another file
    ):
        (root / 'split.txt').write_text(text)
        with pytest.raises(UserError, match=message):
            build(root, ann_file='split.txt')


def test_training_draws_annotators_evenly(tmp_path):
    write(tmp_path / 'images/train/a.png', np.zeros((4, 4), np.uint8))
    for a in range(3):
        label = np.full((4, 4), a, np.uint8)
        write(tmp_path / f'annotations/train/a/r{a}.png', label)
    data = build(tmp_path, metainfo={'classes': 'abc'}, pipeline=DRAW)
    np.random.seed(0)
    samples = (data[0]['data_samples'] for _ in range(900))
    draws = [sample.gt_sem_seg.data[0, 0, 0] for sample in samples]
    counts = np.bincount(draws, minlength=3)
    assert abs(counts - 300).max() < 3 * np.sqrt(900 * 2 / 9)
    assert 'gt_sem_segs' not in data[0]['data_samples']


@pytest.mark.parametrize('ann_file', ['', 'i.csv', 'i.txt'])
def test_keys_hold_the_whole_path(tmp_path, ann_file):
    root = make_set(tmp_path, ('p1/s/0', 'p2/s/0', '1'), (1, 1, 1))
    (root / 'i.txt').write_text('p1/s/0\np2/s/0.png\n1\n')
    (root / 'i.csv').write_text(
        'image,annotation\np1/s/0.png,p1/s/0/r0.png\n'
        'p2/s/0.png,p2/s/0/r0.png\n1.png,1/r0.png\n'
    )
    for prefix in ('images/train', 'images/train/p1/..'):
        prefix = {**PREFIX, 'img_path': prefix}
        options = dict(ann_file=ann_file, data_prefix=prefix)
        data = build(root, pipeline=ALL, **options)
        keys = {data[i]['data_samples'].sample_key for i in range(3)}
        assert keys == {'train/p1/s/0.png', 'train/p2/s/0.png', 'train/1.png'}


def test_broken_files_are_named_at_load(tmp_path):
    with pytest.raises(FileNotFoundError, match='check data_root'):
        build(tmp_path)
    label = make_set(tmp_path) / 'annotations/train/a/r1.png'
    data = build(tmp_path, pipeline=ALL)
    image = tmp_path / 'images/train/a.png'
    for name, spoil in (
        (r'r1\.png: .*\(3, 4\)', lambda: write(label, np.zeros((3, 4), 'u1'))),
        (r'a\.png: not a readable', lambda: truncate(image)),
    ):
        spoil()
        with pytest.raises(UserError, match=name):
            data[0]
    image.unlink()
    (tmp_path / 'annotations/train/b/r0.png').unlink()
    with pytest.raises(ValueError, match=r'r0\.png: no image'):
        build(tmp_path)


def test_indices_beyond_the_images_are_refused(tmp_path):
    root = make_set(tmp_path)
    for indices, left in ((None, 2), ([1], 1), (-2, 2), ([-2], 1)):
        assert len(build(root, indices=indices)) == left
    for indices in (3, -3, [0, 2], [-3], range(0, 5, 2)):
        with pytest.raises(UserError, match='images/train: 2 images'):
            build(root, indices=indices)


def test_bubil_as_published(real_data):
    data = build(real_data / 'bubil', pipeline=ALL)
    assert len(data) == 191
    samples = [data[i]['data_samples'] for i in range(0, 191, 19)]
    counts = {len(sample.gt_sem_segs.data) for sample in samples}
    assert counts <= {7, 8, 9, 10} and len(counts) > 1


@pytest.mark.parametrize('stem', ['../evil', '/evil', 'a/../../evil'])
def test_samples_stay_in_the_folder(tmp_path, stem):
    writer = MultiAnnotatorWriter(tmp_path / 'out')
    image = np.zeros((4, 4), np.uint8)
    with pytest.raises(UserError, match='leads out'):
        writer.write('train', stem, image, image[None])
    assert not list(tmp_path.rglob('*.png'))
