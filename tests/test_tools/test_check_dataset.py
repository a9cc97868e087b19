import numpy as np

from ..test_datasets.encoding import tiff
from ..test_datasets.samples import make_set, truncate, write
from .scripts import load_script

CONFIG = """
metainfo = dict(classes=('background', 'thing'))
{loaders}
"""
LOADER = """
{split}_dataloader = dict(dataset=dict(
    type='MultiAnnotatorDataset', data_root={root!r}, metainfo=metainfo,
    data_prefix=dict(
        img_path='images/{split}', seg_map_path='annotations/{split}'),
    patient_pattern='p[0-9]+'))
"""


def write_config(root, splits=('train', 'val', 'test')):
    loaders = [LOADER.format(split=s, root=str(root)) for s in splits]
    path = root / 'config.py'
    path.write_text(CONFIG.format(loaders=''.join(loaders)))
    return str(path)


def check(config, capsys):
    tool = load_script('analysis_tools/check_dataset.py')
    code = tool.main([config])
    return code, capsys.readouterr().out


def test_every_problem_is_listed_in_one_run(tmp_path, capsys):
    """Eight kinds of problems among 30 images."""
    stems = tuple(f's{i:03d}' for i in range(0, 300, 10))
    make_set(tmp_path, stems, (1,) * 30, size=(6, 6))
    images = tmp_path / 'images/train'
    labels = tmp_path / 'annotations/train'
    truncate(images / 's000.png')
    truncate(labels / 's020/r0.png')
    write(labels / 's100/r0.png', np.ones((5, 6), np.uint8))
    write(labels / 's150/r0.png', np.full((6, 6), 3, np.uint8))
    write(labels / 's200/r0.png', np.zeros((6, 6), np.uint8))
    (labels / 's250/r0.png').unlink()
    noise = np.random.default_rng(0).integers(0, 256, (6, 6, 3), np.uint8)
    write(images / 's290.jpg', noise)
    make_set(tmp_path, ('p1_a',), (2,), split='val')
    make_set(tmp_path, ('p1_b', 'p2_b'), (2, 2), split='test')
    code, out = check(write_config(tmp_path), capsys)
    assert code == 1
    lines = out.splitlines()

    def problem_of(name):
        place = [i for i, line in enumerate(lines) if line.endswith(name)]
        return lines[place[0] + 1]

    assert 'not a readable' in problem_of('images/train/s000.png')
    assert 'not a readable' in problem_of('s020/r0.png')
    assert '(5, 6)' in problem_of('s100/r0.png')
    assert 'ids [3]' in problem_of('s150/r0.png')
    assert 'empty' in problem_of('images/train/s200.png')
    assert 'no label map' in problem_of('images/train/s250.png')
    assert '2 images of this stem' in problem_of('images/train/s290')
    assert 'patient p1 is in splits' in problem_of('images/val/p1_a.png')
    assert '8 files with problems' in out


def test_same_images_in_train_and_test(tmp_path, capsys):
    make_set(tmp_path)
    (tmp_path / 'one.txt').write_text('a\n')
    config = write_config(tmp_path, ('train', 'test'))
    with open(config, 'a') as file:
        file.write(
            "test_dataloader['dataset'].update(ann_file='one.txt', "
            "data_prefix=train_dataloader['dataset']['data_prefix'])\n"
        )
    code, out = check(config, capsys)
    assert code == 1 and "is in splits ['test', 'train']" in out
    with open(config, 'a') as file:
        file.write(
            "train_dataloader['dataset'] = dict(type='ConcatDataset', "
            "datasets=[train_dataloader['dataset']] * 2)\n"
        )
    code, out = check(config, capsys)
    assert code == 1 and 'listed 2 times in train; expected once' in out


def test_values_that_cannot_be_right(tmp_path, capsys):
    make_set(tmp_path, tuple('abcd'), (1,) * 4)
    images = tmp_path / 'images/train'
    rng = np.random.default_rng(0)
    for stem in 'abcd':
        deep = rng.integers(500, 60000, (12, 16)).astype(np.uint16)
        write(images / f'{stem}.png', deep)
    config = write_config(tmp_path, ('train',))
    write(tmp_path / 'annotations/train/a/r1.png', np.zeros((12, 16), 'u1'))
    code, out = check(config, capsys)
    assert code == 0 and '4 of 1 x uint16; values from 5' in out
    assert '5 label maps, 1 of them empty' in out
    write(images / 'a.png', np.full((12, 16), 300, np.uint16))
    (images / 'b.png').rename(images / 'b.tif')
    unit = np.full((12, 16, 1), np.nan, np.float32)
    (images / 'b.tif').write_bytes(tiff(unit))
    code, out = check(config, capsys)
    assert code == 1 and '2 files with problems' in out
    for name, text in (('a.png', 'are 300'), ('b.tif', 'NaN')):
        assert text in out.split(f'/{name}\n')[1].split('\n')[0]
    with open(config, 'a') as file:
        file.write(
            "train_dataloader['dataset']['pipeline'] = ["
            "dict(type='LoadImageFromFile')]\n"
        )
    assert 'LoadImageFromFile clips' in check(config, capsys)[1]
