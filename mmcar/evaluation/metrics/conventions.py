"""How two label maps are compared: which classes, and what absence counts."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from ...utils.errors import UserError
from ..functional.inputs import check_classes


@dataclass(frozen=True)
class Conventions:
    """The choices behind an IoU.

    Two classes are read as background and foreground, and scored as the
    literature does: IoU of the foreground, 1 if both maps are empty.

    Args:
        num_classes: Number of classes K.
        given_classes: Ids that the IoU is averaged over; None is (1,) for
            two classes, else all.
        given_absent: What a class missing from both maps counts, 'skip' or
            'one'; None is 'one' for two classes, else 'skip'.
        ignore_index: Id of unlabelled pixels.
    """

    num_classes: int
    given_classes: tuple[int, ...] | None = None
    given_absent: str | None = None
    ignore_index: int = 255

    @property
    def classes(self) -> tuple[int, ...] | None:
        """Ids that the IoU is averaged over; None is all."""
        if self.given_classes is None and self.num_classes == 2:
            return (1,)
        return self.given_classes

    @property
    def absent(self) -> str:
        """What a class missing from both maps counts."""
        return self.given_absent or (
            'one' if self.num_classes == 2 else 'skip'
        )


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
        classes: Ids or names; None is left to the conventions.
        names: The data set's classes; None if unknown.
        num_classes: Their number K.

    Raises:
        UserError: A class that is not there, or ids that leave out more than
            class 0 of three classes or more.
    """
    if classes is None:
        return None
    ids = [_class_id(c, names) if isinstance(c, str) else c for c in classes]
    check_classes(ids, num_classes)
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
