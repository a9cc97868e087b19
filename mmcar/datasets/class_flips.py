"""Twins for classes: what a data set with class flips says of itself."""

PALETTE_SHIFT = 96
"""How far a twin's colour lies from that of its class."""


def add_twins(metainfo: dict, table: dict[str, float]) -> dict:
    """Add a twin to some classes.

    Args:
        metainfo: ``classes`` and ``palette`` of a data set.
        table: Probability that a class turns into its twin, by its name; the
            twins get the next free ids in this order.

    Returns:
        The metainfo with ``<name>2`` for each twin, and ``flips``.
    """
    classes = tuple(metainfo['classes'])
    palette = list(metainfo['palette'])
    ids = [classes.index(name) for name in table]
    twins = [[(v + PALETTE_SHIFT) % 256 for v in palette[i]] for i in ids]
    return {
        'classes': classes + tuple(f'{name}2' for name in table),
        'palette': palette + twins,
        'flips': tuple(
            (i, len(classes) + n, p)
            for n, (i, p) in enumerate(zip(ids, table.values(), strict=True))
        ),
    }
