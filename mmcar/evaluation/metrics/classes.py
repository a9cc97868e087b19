"""Classes that a metric is asked for, and those of the data set."""

from collections.abc import Sequence

from ...utils.errors import UserError
from ..functional import Comparison


def class_number(given: int | None, names: Sequence[str] | None) -> int:
    """The number of classes, which config and data set must agree on."""
    number = len(names or ()) or given
    if number is None or given not in (None, number):
        raise UserError(
            f'num_classes={given} of the metric, and '
            f'{len(names or ())} classes of the data set: expected one '
            'number; leave it out to ask the data set'
        )
    return number


def class_ids(
    classes: Sequence[int | str] | None,
    names: Sequence[str] | None,
    num_classes: int,
) -> tuple[int, ...] | None:
    """Ids of the classes that a config asks for.

    Ids say nothing about what they leave out: ``(1,)`` is the foreground of
    two classes, and one of many in a config that inherits it. So where the
    data set is known, a part of more than two classes has to be named.

    Args:
        classes: Ids or names; None stays None.
        names: The data set's classes; None if unknown.
        num_classes: Their number K.

    Raises:
        UserError: A class that is not there, or ids that leave out more than
            class 0 of three classes or more.
    """
    if classes is None:
        return None
    ids = [_class_id(c, names) if isinstance(c, str) else c for c in classes]
    Comparison(num_classes, ids)  # refuses ids that are not there
    named = all(isinstance(c, str) for c in classes)
    left_out = sorted(set(range(1, num_classes)) - set(ids))
    if names and num_classes > 2 and left_out and not named:
        raise UserError(
            f'classes={tuple(classes)}: leaves out '
            f'{", ".join(names[i] for i in left_out)} of the '
            f"{num_classes} classes of the data set. Delete 'classes' to "
            'score all; to score these alone, name them: '
            f'classes={[names[i] for i in ids]}'
        )
    return tuple(ids)


def _class_id(name: str, names: Sequence[str] | None) -> int:
    if name not in (names or ()):
        known = ', '.join(names) if names else 'unknown; use ids'
        raise UserError(
            f'classes: no class is called {name!r}; the classes of the data '
            f'set are {known}'
        )
    return list(names or ()).index(name)
