"""Which images of a data set a report opens."""

import heapq
import math
from collections.abc import Callable
from typing import Any

import numpy as np


def spread(total: int, number: int) -> set[int]:
    """Positions spread evenly over a list, from its first to its last."""
    places = np.linspace(0, max(total - 1, 0), min(number, total))
    return {int(place) for place in places.round()}


class Selection:
    """Some images of many: half with the worst GED, half spread evenly.

    Keeps a bounded number while images go by one after the other.

    Args:
        total: Number of images.
        limit: How many to choose.
    """

    def __init__(self, total: int, limit: int) -> None:
        self.total, self.limit = total, min(limit, total)
        everything = self.limit == total
        number = total if everything else (self.limit + 1) // 2
        self.spread = spread(total, number)
        self.kept: dict[int, Any] = {}
        self._worst: list[tuple[float, int, Any]] = []

    def offer(self, index: int, ged: float, make: Callable[[], Any]) -> None:
        """Keep an image if it may be chosen.

        Args:
            index: Its position.
            ged: Its score; NaN counts as the best.
            make: Makes what is kept.
        """
        if index in self.spread:
            self.kept[index] = make()
            return
        entry = (-math.inf if math.isnan(ged) else ged, -index)
        if len(self._worst) < self.limit - len(self.spread):
            heapq.heappush(self._worst, (*entry, make()))
        elif self._worst and entry > self._worst[0][:2]:
            heapq.heapreplace(self._worst, (*entry, make()))

    def chosen(self) -> dict[int, Any]:
        """What was kept, by position."""
        worst = {-index: kept for _, index, kept in self._worst}
        return dict(sorted((self.kept | worst).items()))
