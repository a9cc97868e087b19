"""A part of a data set that is asked for must be there."""

from collections.abc import Sequence

from ..utils.errors import UserError


def check_indices(
    indices: int | Sequence[int] | None,
    num_images: int,
    folder: str,
    hint: str = '',
) -> None:
    """Refuse indices of images that a data set does not hold.

    Args:
        indices: Numbers of images, or how many of the first (below zero: of
            the last) to take; None takes all.
        num_images: How many there are.
        folder: Where they lie, for the error.
        hint: What to do about it, if known.
    """
    if indices is None:
        return
    if isinstance(indices, int):
        wanted, what = abs(indices), f'indices={indices}'
    else:
        wanted = max((i + 1 if i >= 0 else -i for i in indices), default=0)
        what = f'indices up to {wanted - 1}'
    if wanted > num_images:
        raise UserError(
            f'{folder}: {num_images} images, but the config takes {what}; '
            f'expected at least {wanted} images. '
            + (hint or 'Complete the data set, or change indices')
        )
