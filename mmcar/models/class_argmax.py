"""The most probable class of every pixel, in little time and memory.

``argmax`` over classes that lie far apart in memory, as in (K, H, W), is slow
on a CPU; a running maximum over classes is not, as long as its pixels stay in
the cache. Results are those of ``argmax``, the first of equal maxima included.
"""

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor

# Side of the squares worked on: four float32 maps of one fit into 512 kB,
# and few classes compete within it.
TILE = 128

Tile = tuple[slice, slice]
"""Rows and columns of a part of an image."""


def label_dtype(num_classes: int) -> torch.dtype:
    """The smallest type of label maps with so many classes."""
    return torch.uint8 if num_classes <= 256 else torch.int16


def gains_by_tiles(device: torch.device) -> bool:
    """Whether to work tile by tile and to look at values on the way.

    CPUs have caches to fit into; other devices would have to wait.
    """
    return device.type == 'cpu'


def tiles(
    size: tuple[int, int], device: torch.device, side: int = TILE
) -> Iterator[Tile]:
    """Squares that cover an image of some height and width.

    Where they are no gain, it is the whole image at once.
    """
    height, width = size
    if not gains_by_tiles(device):
        side = max(size)
    for top in range(0, height, side):
        for left in range(0, width, side):
            yield (
                slice(top, min(top + side, height)),
                slice(left, min(left + side, width)),
            )


def running_argmax(
    maps: Iterable[Tensor], ids: Sequence[int], labels: Tensor
) -> None:
    """Write the id of the largest of several maps into ``labels``.

    Args:
        maps: One map of scores per id, all of one shape. Each may be
            overwritten once the next has been asked for.
        ids: Ids in ascending order; the first of equal scores wins.
        labels: Where the result goes, of that shape and an integer type.
    """
    labels.fill_(ids[0])
    if len(ids) == 1:
        return
    maps = iter(maps)
    best = next(maps).clone()
    larger = torch.empty_like(best, dtype=torch.bool)
    for index, scores in zip(ids[1:], maps, strict=True):
        torch.gt(scores, best, out=larger)
        labels.masked_fill_(larger, index)
        torch.maximum(best, scores, out=best)


def class_argmax(scores: Tensor) -> Tensor:
    """``scores.argmax(dim=1)`` of (B, K, H, W) as small integers."""
    batch, classes, *size = scores.shape
    labels = scores.new_empty((batch, *size), dtype=label_dtype(classes))
    for rows, columns in tiles((size[0], size[1]), scores.device):
        maps = scores[..., rows, columns].unbind(1)
        running_argmax(maps, range(classes), labels[..., rows, columns])
    return labels


def class_counts(labels: Tensor, num_classes: int) -> Tensor:
    """How many of S label maps (S, H, W) name each class: (K, H, W)."""
    size = (labels.shape[1], labels.shape[2])
    if not gains_by_tiles(labels.device):  # bincount looks at values
        counts = torch.zeros(num_classes, *size, device=labels.device)
        ones = torch.ones(labels.shape, device=labels.device)
        return counts.scatter_add_(0, labels.long(), ones)
    counts = torch.empty(num_classes, *size, device=labels.device)
    for rows, columns in tiles(size, labels.device):
        part = labels[:, rows, columns].long()
        height, width = part.shape[1:]
        pixels = torch.arange(height * width, device=labels.device)
        index = part.mul_(height * width) + pixels.view(height, width)
        found = torch.bincount(
            index.flatten(), minlength=num_classes * height * width
        )
        counts[:, rows, columns] = found.view(num_classes, height, width)
    return counts
