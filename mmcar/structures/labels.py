"""What the labels of an image say: of each pixel, and of areas.

In class flips, whole classes of an image turn into a twin at random. They are
not to be confused with mirrored images: ``RandomFlip`` turns pixels around, a
class flip renames a class, e.g. road into road2 with probability 4/17.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from ..utils.errors import UserError
from .colours import distant_colours


class DataSample(Protocol):
    """A data sample of MMSegmentation, or its form as a dict."""

    def get(self, key: str, default: Any = None) -> Any:
        """Return a field or a piece of metainfo."""


# Where a data set's metainfo and a data sample keep the table.
KEY = 'class_flips'


class ClassFlip(NamedTuple):
    """One row: with this probability the whole class becomes its twin."""

    source: int
    twin: int
    probability: float


class ClassFlips(tuple[ClassFlip, ...]):
    """The table of class flips of a data set; each row is drawn on its own.

    Rows are class id, twin id, probability, as :meth:`parse` checks them.
    """

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
        if any(len(row) != 3 for row in table):
            raise UserError(
                f'class_flips={table}: expected (class, twin, probability)'
            )
        last = (num_classes or 255) - 1
        ids = [i for row in table for i in row[:2]]
        for source, twin, probability in table:
            where = f'class_flips: flip of {source} to {twin}'
            if not 0 <= probability <= 1:
                raise UserError(f'{where}: probability {probability}')
            if any(i not in range(last + 1) for i in (source, twin)):
                raise UserError(f'{where}: expected ids from 0 to {last}')
            if ids.count(source) > 1 or ids.count(twin) > 1:
                raise UserError(
                    f'{where}: expected each id once in the table, found {ids}'
                )
        return cls(ClassFlip(int(c), int(t), float(p)) for c, t, p in table)

    @property
    def twins(self) -> list[int]:
        """Ids that no label file may hold: they exist by flipping only."""
        return [row.twin for row in self]

    @property
    def ids(self) -> list[int]:
        """Class and twin of every row, next to each other."""
        return [i for row in self for i in row[:2]]

    def draw(self, label: np.ndarray) -> np.ndarray:
        """Flip a label map (H, W) uint8 at random, by NumPy's generator."""
        table = np.arange(256, dtype=np.uint8)
        for source, twin, probability in self:
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
        for source, twin, _ in self:
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
        for source, twin, probability in self:
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
            f'{classes - len(flips)} or, with twins, {classes}: make them fit'
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


def label_distribution(
    data_sample: DataSample, num_classes: int, ignore_index: int = 255
) -> tuple[Tensor, Tensor]:
    """The true class probabilities of every pixel of one image.

    It is the mean of the annotators' one-hot maps, each pixel over those who
    labelled it, followed by the class flips of the data set.

    Args:
        data_sample: Carries ``gt_sem_segs`` (A, H, W) and, for class-flip
            data, ``class_flips``.
        num_classes: Number of classes K, twins included.
        ignore_index: Label of unlabelled pixels.

    Returns:
        Probabilities (K, H, W), uniform where nobody labelled the pixel, and
        the mask (H, W) of pixels that somebody labelled.

    Raises:
        ValueError: No labels in the sample, or an id outside the classes.
    """
    field = data_sample.get('gt_sem_segs')
    if field is None:
        raise UserError(
            f"{data_sample.get('img_path', 'the sample')}: no 'gt_sem_segs'; "
            "use dict(type='LoadMultiAnnotations', keep_all=True)"
        )
    labels = field.get('data')  # (A, H, W)
    size, device = labels.shape[1:], labels.device
    counts = torch.zeros(num_classes, *size, device=device)
    total = torch.zeros(size, device=device)
    for own in labels:  # one by one: they may be large
        ids = own.long()
        labelled = ids != ignore_index
        outside = labelled & ((ids < 0) | (ids >= num_classes))
        # Elsewhere the look would make the device wait; what has come there
        # was checked by the data preprocessor.
        if device.type == 'cpu' and outside.any():
            raise UserError(
                f'{data_sample.get("img_path", "the sample")}: label '
                f'{ids[outside][0]} is not one of the {num_classes} classes'
            )
        found = labelled.float()
        counts.scatter_add_(0, ids.where(labelled, 0)[None], found[None])
        total += found
    valid = total > 0
    counts /= total.clamp_(min=1)
    probs = class_flips_of(data_sample).apply(counts)
    return probs.masked_fill_(~valid, 1 / num_classes), valid


def class_shares(labels: Tensor, num_classes: int) -> Tensor:
    """Share of its pixels that each label map gives to each class.

    Args:
        labels: Integer label maps (N, H, W); other ids, such as the ignored,
            belong to no class.
        num_classes: Number of classes K.

    Returns:
        (N, K), float64.
    """
    flat = labels.flatten(1).long()
    flat = flat.where((flat >= 0) & (flat < num_classes), num_classes)
    counts = flat.new_zeros(len(flat), num_classes + 1)
    counts.scatter_add_(1, flat, torch.ones_like(flat))
    return counts[:, :num_classes].double() / flat.shape[1]


def max_class_area(
    annotations: Iterable[Tensor],
    num_classes: int,
    flips: ClassFlips | None = None,
) -> Tensor:
    """The largest share (K,) of each class in any of many label maps.

    Args:
        annotations: Label maps (A, H, W) of each image.
        num_classes: Number of classes K.
        flips: Table of classes that turn into twins, which may cover as
            much as their class.
    """
    largest = torch.zeros(num_classes, dtype=torch.float64)
    for labels in annotations:
        shares = class_shares(labels, num_classes).amax(0)
        largest = torch.maximum(largest, shares.cpu())
    for source, twin, _ in flips or ():
        pair = [source, twin]
        largest[pair] = largest[pair].max()
    return largest


def floods(
    samples: Tensor, largest: Tensor, classes: Iterable[int] | None = None
) -> Tensor:
    """Which samples have a class that covers more than its largest share.

    Args:
        samples: Label maps (S, H, W).
        largest: Largest share (K,) of each class, see `max_class_area`.
        classes: Ids that count; None is all.

    Returns:
        (S,), bool.
    """
    shares = class_shares(samples, len(largest))
    chosen = list(range(len(largest)) if classes is None else classes)
    return (shares > largest.to(shares))[:, chosen].any(1)
