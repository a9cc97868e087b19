"""Standard errors by patient, and scores by kind of nodule."""

import cv2
import numpy as np
import pytest

from mmcar.utils.errors import UserError

from ..lidc.by_patient import (
    Nodule,
    bootstrap,
    kinds_of,
    markdown,
    parts_of,
    read_nodules,
    read_scores,
    summarise,
)


def image(patient, nodule=0, number=0):
    return f'test/LIDC-IDRI-{patient:04d}/nodule-{nodule}/slice-{number}.png'


def test_error_is_that_of_patients_not_of_slices():
    """Equal slices of a patient add nothing to what is known of the mean."""
    rng = np.random.default_rng(0)
    means = rng.normal(size=200)
    once = bootstrap(means, [f'p{i}' for i in range(200)])
    often = bootstrap(
        means.repeat(50), np.repeat([f'p{i}' for i in range(200)], 50)
    )
    assert once.mean == pytest.approx(means.mean())
    assert often.mean == pytest.approx(once.mean)
    assert often.error == pytest.approx(once.error)
    assert once.error == pytest.approx(means.std() / 200**0.5, rel=0.06)


def test_bootstrap_is_that_of_a_loop():
    """Patients of different sizes; the mean is over slices."""
    rng = np.random.default_rng(1)
    patients = rng.integers(0, 30, 400)
    values = rng.normal(size=400) + patients % 3
    owned = [values[patients == p] for p in range(30)]
    means = [
        np.concatenate([owned[i] for i in rng.integers(0, 30, 30)]).mean()
        for _ in range(4000)
    ]
    found = bootstrap(values, patients.astype(str), draws=4000)
    assert found.error == pytest.approx(np.std(means), rel=0.06)
    assert found.mean == pytest.approx(values.mean())


def test_values_and_patients_must_fit():
    for values, patients in (([], []), ([1.0], ['a', 'b'])):
        with pytest.raises(UserError, match='expected as many'):
            bootstrap(values, patients)


def test_names():
    assert parts_of(image(12, 3, 45)) == (
        'test',
        'LIDC-IDRI-0012/nodule-3',
        'LIDC-IDRI-0012',
    )
    with pytest.raises(UserError, match='expected <split>'):
        parts_of('test/p1/0.png')


def write_table(path, images, name, values):
    lines = [f'image,{name},labels_left_out']
    lines += [f'{i},{v},0' for i, v in zip(images, values, strict=True)]
    path.write_text('\n'.join(lines))
    return path


def test_tables_are_joined(tmp_path):
    images = [image(1), image(2)]
    ged = write_table(tmp_path / 'ged.csv', images, 'GED_16', [0.1, 0.3])
    iou = write_table(tmp_path / 'iou.csv', images[::-1], 'HM-IoU_16', [1, 0])
    assert read_scores([ged, iou]) == {
        images[0]: {'GED_16': 0.1, 'HM-IoU_16': 0.0},
        images[1]: {'GED_16': 0.3, 'HM-IoU_16': 1.0},
    }
    other = write_table(tmp_path / 'x.csv', images[:1], 'HM-IoU_16', [1])
    with pytest.raises(UserError, match=r'x\.csv: 1 images'):
        read_scores([ged, other])


def write_masks(root, name, areas):
    folder = root / 'annotations' / name.removesuffix('.png')
    folder.mkdir(parents=True)
    for reader, area in enumerate(areas):
        mask = np.zeros((32, 32), np.uint8)
        mask.reshape(-1)[:area] = 1
        cv2.imwrite(str(folder / f'r{reader}.png'), mask)


def test_nodules_are_those_of_all_their_slices(tmp_path):
    slices = {
        image(1, 0, 0): (10, 0, 0, 0),
        image(1, 0, 1): (0, 200, 100, 0),
        image(1, 1, 0): (600, 600, 600, 603),
        image(2, 0, 0): (0, 0, 0, 49),
    }
    for name, areas in slices.items():
        write_masks(tmp_path, name, areas)
    nodules = read_nodules(slices, tmp_path)
    assert [kinds_of(n) for n in nodules.values()] == [
        ('marked by 3', '150 to 499 pixels'),
        ('marked by 4', '500 pixels and more'),
        ('marked by 1', '0 to 49 pixels'),
    ]
    assert nodules['LIDC-IDRI-0001/nodule-0'].size == 150
    with pytest.raises(UserError, match='no masks'):
        read_nodules([image(9)], tmp_path)
    scores = {
        name: {'GED_16': value}
        for name, value in zip(slices, (0.0, 0.2, 0.4, 0.6), strict=True)
    }
    table = summarise(scores, nodules)
    means = {
        line: (number, found['GED_16'].mean)
        for line, (number, found) in table.items()
    }
    assert list(means.items()) == [
        ('all', (4, pytest.approx(0.3))),
        ('marked by 1', (1, 0.6)),
        ('marked by 3', (2, 0.1)),
        ('marked by 4', (1, 0.4)),
        ('0 to 49 pixels', (1, 0.6)),
        ('150 to 499 pixels', (2, 0.1)),
        ('500 pixels and more', (1, 0.4)),
    ]
    first, _, all_slices, *_ = markdown(table).splitlines()
    assert first == '| slices of | number | GED 16 |'
    assert all_slices.startswith('| all | 4 | 0.300 ± 0.')


@pytest.mark.parametrize(
    ('size', 'line'),
    [
        (49.9, '0 to 49 pixels'),
        (50, '50 to 149 pixels'),
        (149.9, '50 to 149 pixels'),
        (500, '500 pixels and more'),
    ],
)
def test_sizes_have_no_gap(size, line):
    assert kinds_of(Nodule({'r0'}, size)) == ('marked by 1', line)
