"""What images and label maps of a folder hold."""

import shutil

import numpy as np
import pytest
from PIL import Image

from mmcar.datasets.folder_layout import look_at_folder
from mmcar.utils.errors import UserError

from .folders import paint
from .samples import truncate


def write_masks(root, *files):
    """Images, each with label maps of these ids."""
    for i, maps in enumerate(files):
        (root / 'images').mkdir(parents=True, exist_ok=True)
        image = np.random.default_rng(i).integers(0, 255, (4, 6), np.uint8)
        Image.fromarray(image).save(root / f'images/{i}.png')
        for a, ids in enumerate(maps):
            folder = root / f'masks_{a}'
            folder.mkdir(exist_ok=True)
            mask = np.resize(np.array(ids, np.uint8), (4, 6))
            Image.fromarray(mask).save(folder / f'{i}.png')


def test_what_is_found(tmp_path):
    ids = (0, 40, 80, 120)
    sizes = ((37, 45), (50, 33))
    paint(tmp_path, 'ours', 8, (2, 4), 4, True, sizes, ids)
    found = look_at_folder(tmp_path)
    assert not found.problems and not found.doubts
    assert {c.size for c in found.contents} == {*sizes}
    assert {v.dtype for v in found.values} == {'uint16'}
    assert found.label_map() == {0: 0, 40: 1, 80: 2, 120: 3}
    pixels = sum(
        (h * w * 4 * n for (h, w), n in zip(sizes, (2, 4), strict=True))
    )
    assert found.ids.total() == pixels
    assert found.ids[0] > pixels / 2


@pytest.mark.parametrize(
    ('maps', 'expected'),
    [
        ([[(0, 255)], [(0,)]], {0: 0, 255: 1}),
        ([[(0, 1)], [(0, 1, 255)]], {0: 0, 1: 1}),
        ([[(0, 1), (0, 255)], [(0, 1)]], {0: 0, 1: 1, 255: 1}),
        ([[(0, 128, 255)]], {0: 0, 128: 1, 255: 2}),
        ([[(1, 2, 255)]], {1: 0, 2: 1}),
    ],
)
def test_ids_become_classes(tmp_path, maps, expected):
    write_masks(tmp_path, *maps)
    assert look_at_folder(tmp_path).label_map() == expected


def test_agreement_is_the_iou_of_every_two_annotators(tmp_path):
    write_masks(tmp_path, [(0, 1), (1,)], [(0, 1), (0, 1), (1, 0)])
    agreement = look_at_folder(tmp_path).agreement()
    assert sorted(agreement) == [0.0, 0.0, 0.5, 1.0]
    # Of classes that files call otherwise.
    write_masks(tmp_path / 'other', [(0, 255), (255,)])
    assert look_at_folder(tmp_path / 'other').agreement() == [0.5]


def test_every_broken_file_is_named(tmp_path):
    paint(tmp_path, 'masks by annotator', 8, (2,))
    truncate(tmp_path / 'images/case00.png')
    Image.new('L', (9, 9)).save(tmp_path / 'masks_a/case01.png')
    (tmp_path / 'masks_a/case02.png').unlink()
    (tmp_path / 'masks_b/case02.png').unlink()
    Image.new('RGB', (45, 37), 'red').save(tmp_path / 'masks_b/case04.png')
    ramp = np.arange(37 * 45).reshape(37, 45) % 200
    Image.fromarray(ramp.astype('u1')).save(tmp_path / 'masks_a/case06.png')
    broken = ('images/case00', 'masks_a/case01', 'images/case02')
    broken += ('masks_b/case04', 'masks_a/case06')
    found = {path for path, _ in look_at_folder(tmp_path).problems}
    assert found == {f'{tmp_path}/{name}.png' for name in broken}


@pytest.mark.parametrize('step', [1, 80])
def test_values_between_classes_are_no_classes(tmp_path, step):
    paint(tmp_path, 'masks by annotator', 4, ids=(0, 3 * step))
    broken = tmp_path / 'masks_b/case02.png'
    mask = np.array(Image.open(broken))
    mask[4:6, 3:9] = [step, 2 * step, step, 2 * step, step, step]
    Image.fromarray(mask).save(broken)
    found = look_at_folder(tmp_path)
    # Classes may be thin where their ids follow each other.
    thin = {str(broken)} if step > 1 else set()
    assert {path for path, _ in found.problems} == thin
    # However large, what no other image has is no class.
    mask[6:26, 3:23] = step
    Image.fromarray(mask).save(broken)
    found = look_at_folder(tmp_path)
    named = found.problems if step > 1 else found.doubts
    assert {path for path, _ in named} == {str(broken)}


def test_files_that_differ_from_all_others_are_a_doubt(tmp_path):
    """A label map too few, one too many, and what is no image at all."""
    paint(tmp_path, 'masks by annotator', 30, (3,))
    (tmp_path / 'masks_b/case02.png').unlink()
    (tmp_path / 'masks_b/notes.txt').write_text('')
    found = look_at_folder(tmp_path)
    assert not found.problems
    named = ('masks_b/notes.txt', 'images/case02.png')
    assert [path for path, _ in found.doubts] == [
        str(tmp_path / name) for name in named
    ]


def test_patients_in_two_splits_are_a_doubt(tmp_path):
    write_masks(tmp_path, [(0, 1)], [(0, 1)])
    for split, image in (('train', 0), ('val', 1)):
        line = f'images/{image}.png,masks_0/{image}.png,p1'
        (tmp_path / f'{split}.csv').write_text(
            f'image,annotation,patient\n{line}\n'
        )
    found = look_at_folder(tmp_path)
    assert not found.problems
    assert [path for path, _ in found.doubts] == [
        str(tmp_path / 'images/0.png')
    ]


def test_values_of_two_types_are_wrong_and_empty_masks_doubted(tmp_path):
    paint(tmp_path, 'masks by annotator', 4)
    paint(tmp_path / 'other', 'masks by annotator', 1, deep=True)
    deep = tmp_path / 'images/case00.png'
    (tmp_path / 'other/images/case00.png').rename(deep)
    shutil.rmtree(tmp_path / 'other')
    for name in 'ab':
        Image.new('L', (45, 37)).save(tmp_path / f'masks_{name}/case02.png')
    found = look_at_folder(tmp_path)
    assert [path for path, _ in found.problems] == [str(deep)]
    assert [path for path, _ in found.doubts] == [
        str(tmp_path / 'images/case02.png')
    ]


def test_nothing_to_learn_is_a_problem(tmp_path):
    write_masks(tmp_path, [(0,)], [(0,)])
    assert str(tmp_path) in {p for p, _ in look_at_folder(tmp_path).problems}
    with pytest.raises(UserError, match='nowhere'):
        look_at_folder(tmp_path / 'nowhere')
