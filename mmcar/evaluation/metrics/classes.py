"""Classes that a metric is asked for, and those of the data set."""

import difflib
from collections.abc import Sequence

from ...utils.errors import UserError
from ..functional import Comparison


def class_number(given: int | None, names: Sequence[str] | None) -> int:
    """The number of classes, which config and data set must agree on."""
    if given is None and not names:
        raise UserError(
            'num_classes: neither the metric nor the metainfo of the data '
            "set ('classes') says how many classes there are"
        )
    if given is not None and names and given != len(names):
        raise UserError(
            f'num_classes={given} of the metric, but the data set has '
            f'{len(names)} classes: {", ".join(names)}. Leave it out to ask '
            'the data set.'
        )
    return len(names or ()) or int(given or 0)


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
    if names and name in names:
        return list(names).index(name)
    near = difflib.get_close_matches(name, names or (), 1)
    hint = f'did you mean {near[0]!r}? ' if near else ''
    known = ', '.join(names) if names else 'unknown; use ids'
    raise UserError(
        f'classes: no class is called {name!r}; {hint}The classes of the '
        f'data set are {known}'
    )
