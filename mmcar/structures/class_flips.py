"""Class flips: whole classes of an image that turn into a twin at random.

Not to be confused with mirrored images: ``RandomFlip`` turns pixels around,
a class flip renames a class, e.g. road into road2 with probability 4/17.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..utils.errors import UserError
from .colours import distant_colours
from .data_sample import DataSample

KEY = 'class_flips'
"""Where a data set's metainfo and a data sample keep the table."""


class ClassFlip(NamedTuple):
    """One row: with this probability the whole class becomes its twin."""

    source: int
    twin: int
    probability: float


@dataclass(frozen=True)
class ClassFlips:
    """The table of class flips of a data set; each row is drawn on its own.

    Args:
        rows: Class id, twin id, probability, as :meth:`parse` checks them.
    """

    rows: tuple[ClassFlip, ...] = ()

    @classmethod
    def parse(
        cls, table: Iterable[Sequence] | None, num_classes: int | None = None
    ) -> 'ClassFlips':
        """Check a table of rows (class id, twin id, probability).

        Args:
            table: The rows; None or empty for no flips.
            num_classes: Number of classes, twins included; None: any.

        Raises:
            UserError: A row that cannot be drawn, named with its values.
        """
        table = [tuple(row) for row in table or ()]
        for row in table:
            if len(row) != 3:
                raise UserError(
                    f'class_flips: row {row}: expected (class, twin, '
                    'probability)'
                )
        last = (num_classes or 255) - 1
        ids = [i for row in table for i in row[:2]]
        for source, twin, probability in table:
            where = f'class_flips: flip of {source} to {twin}'
            if not 0 <= probability <= 1:
                raise UserError(
                    f'{where}: probability {probability}; expected a number '
                    'from 0 to 1'
                )
            if any(i not in range(last + 1) for i in (source, twin)):
                raise UserError(f'{where}: expected ids from 0 to {last}')
            if ids.count(source) > 1 or ids.count(twin) > 1:
                raise UserError(
                    f'{where}: expected each id once in the table, found {ids}'
                )
        return cls(
            tuple(ClassFlip(int(c), int(t), float(p)) for c, t, p in table)
        )

    def __iter__(self) -> Iterator[ClassFlip]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def twins(self) -> list[int]:
        """Ids that no label file may hold: they exist by flipping only."""
        return [row.twin for row in self.rows]

    @property
    def ids(self) -> list[int]:
        """Class and twin of every row, next to each other."""
        return [i for row in self.rows for i in row[:2]]

    def draw(self, label: np.ndarray) -> np.ndarray:
        """Flip a label map (H, W) uint8 at random, by NumPy's generator."""
        table = np.arange(256, dtype=np.uint8)
        for source, twin, probability in self.rows:
            if np.random.rand() < probability:
                table[source] = twin
        return table[label]

    def flip_all(self, label: Tensor) -> Tensor:
        """The label with every class of the table turned into its twin.

        It keeps its type, if that holds every twin.
        """
        if max(self.ids, default=0) > torch.iinfo(label.dtype).max:
            label = label.long()
        flipped = label
        for source, twin, _ in self.rows:
            flipped = torch.where(label == source, twin, flipped)
        return flipped.to(label.dtype)

    def apply(self, probs: Tensor) -> Tensor:
        """Move each class's probability to its twin, as often as it flips.

        Args:
            probs: Class probabilities, (K, ...).

        Returns:
            New probabilities, (K, ...).
        """
        flipped = probs.clone()
        for source, twin, probability in self.rows:
            flipped[twin] = probability * probs[source]
            flipped[source] = (1 - probability) * probs[source]
        return flipped


def class_flips_of(data_sample: DataSample) -> ClassFlips:
    """The table that an image carries; empty where classes do not flip."""
    return ClassFlips.parse(data_sample.get(KEY))


def check_predicted(number: int, metainfo: Mapping | None, name: str) -> None:
    """Refuse predictions for other classes than those of a data set.

    Only classes that flip need to be the same in both; else, what predicts
    may have classes of its own.

    Args:
        number: Of classes that are predicted.
        metainfo: Of the data set.
        name: What predicts them.

    Raises:
        UserError: Naming it, and the numbers that fit.
    """
    meta = metainfo or {}
    flips, classes = meta.get(KEY), len(meta.get('classes') or ())
    if flips and number not in (classes - len(flips), classes):
        raise UserError(
            f'{name} predicts {number} classes, but the data set has '
            f'{classes - len(flips)} or, with twins, {classes}: take a model '
            'that was trained for its classes.'
        )


def add_twins(metainfo: Mapping, table: Mapping[str, float]) -> dict:
    """Add a twin to some classes.

    Args:
        metainfo: ``classes`` and ``palette`` of a data set.
        table: Probability that a class turns into its twin, by its name; the
            twins get the next free ids in this order.

    Returns:
        The metainfo with ``<name>2`` for each twin, and ``class_flips``.
    """
    classes = tuple(metainfo['classes'])
    palette = list(metainfo['palette'])
    ids = [classes.index(name) for name in table]
    return {
        'classes': classes + tuple(f'{name}2' for name in table),
        'palette': palette + distant_colours(palette, len(ids)),
        KEY: tuple(
            (i, len(classes) + n, p)
            for n, (i, p) in enumerate(zip(ids, table.values(), strict=True))
        ),
    }
