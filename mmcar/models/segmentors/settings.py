"""``test_cfg`` and ``train_cfg`` of models that sample."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...utils.checks import at_least, one_of
from ...utils.errors import UserError
from ...utils.type_check import fits, misfit, nearest

TEST_CFG = dict(
    mode='whole',
    num_samples=16,
    samples_per_chunk=None,
    seed=0,
    crop_size=None,
    stride=None,
    compile=False,
    support_points=None,
    largest_shares=None,
)

# What the keys of test_cfg and train_cfg, here and in methods, hold.
CFG_HINTS: dict[str, Any] = dict(
    mode=str,
    num_samples=int,
    samples_per_chunk=int | None,
    seed=int,
    crop_size=int | Sequence[int] | None,
    stride=int | Sequence[int] | None,
    compile=bool,
    support_points=int | None,
    largest_shares=Sequence[float] | None,
    soft_labels=bool,
    calibration_in_train_mode=bool,
)


def complete_test_cfg(cfg: Mapping | None) -> dict:
    """Fill in the defaults of ``test_cfg``; windows become pairs of sides.

    Args:
        cfg: What the config says.

    Raises:
        UserError: A key or value that cannot work.
    """
    full = complete('test_cfg', cfg, TEST_CFG)
    one_of(('whole', 'slide'), **{'model.test_cfg.mode': full['mode']})
    if full['support_points'] is not None:
        key = 'model.test_cfg.support_points'
        at_least(full['num_samples'], **{key: full['support_points']})
    if full['mode'] == 'whole':
        for key in ('crop_size', 'stride'):
            if full[key] is not None:
                raise UserError(
                    f'model.test_cfg.{key}={full[key]!r} is of windows, but '
                    "model.test_cfg.mode='whole' has none: set mode='slide', "
                    f'or leave {key} out.'
                )
        return full
    for key in ('crop_size', 'stride'):
        value = full[key]
        value = (value, value) if isinstance(value, int) else value
        if not value or len(value) != 2 or min(value) < 1:
            raise UserError(
                f"model.test_cfg.{key}={full[key]!r}: mode='slide' needs a "
                'height and width in pixels.'
            )
        full[key] = (int(value[0]), int(value[1]))
    if any(map(int.__gt__, full['stride'], full['crop_size'])):
        raise UserError(
            f'model.test_cfg.stride={full["stride"]} leaves gaps between '
            f'windows of crop_size={full["crop_size"]}: make it smaller.'
        )
    return full


def check_shares(shares: Sequence[float] | None, num_classes: int) -> None:
    """Refuse ``largest_shares`` that do not give every class one.

    Raises:
        UserError: Another number of shares, or no shares of an image.
    """
    if shares is None:
        return
    if len(shares) != num_classes or not all(0 <= s <= 1 for s in shares):
        raise UserError(
            f'model.test_cfg.largest_shares={list(shares)}: expected a '
            f'number from 0 to 1 for each of {num_classes} classes.'
        )


def complete(key: str, cfg: Mapping | None, defaults: Mapping) -> dict:
    """Fill in the defaults of ``train_cfg`` or ``test_cfg``.

    Args:
        key: Its name, for errors.
        cfg: What the config says.
        defaults: All keys there are.

    Raises:
        UserError: An unknown key, a value of another type, or a number of
            samples below one.
    """
    given = dict(cfg or {})
    for name, value in given.items():
        path = f'model.{key}.{name}'
        if name not in defaults:
            near = nearest(str(name), defaults, 0.5)
            hint = f'; did you mean {near!r}?' if near else '.'
            raise UserError(
                f'{path} is unknown{hint} model.{key} takes '
                f'{", ".join(sorted(defaults))}.'
            )
        if not fits(value, CFG_HINTS.get(name, Any)):
            raise UserError(misfit(path, value, CFG_HINTS[name]))
    full = {**defaults, **given}
    for name in ('num_samples', 'samples_per_chunk'):
        if full.get(name) is not None:
            at_least(1, **{f'model.{key}.{name}': full[name]})
    return full
