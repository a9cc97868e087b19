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
    support_points=None,
    max_class_area=None,
)

# What the keys of test_cfg and train_cfg, here and in methods, hold.
CFG_HINTS: dict[str, Any] = dict(
    mode=str,
    num_samples=int,
    samples_per_chunk=int | None,
    seed=int,
    crop_size=int | Sequence[int] | None,
    stride=int | Sequence[int] | None,
    support_points=int | None,
    max_class_area=Sequence[float] | None,
    soft_labels=bool,
    calibration_in_train_mode=bool,
)


def complete_test_cfg(cfg: Mapping | None, num_classes: int) -> dict:
    """Fill in the defaults of ``test_cfg``; windows become pairs of sides.

    Args:
        cfg: What the config says.
        num_classes: Number of classes.

    Raises:
        UserError: A key or value that cannot work.
    """
    full = complete('test_cfg', cfg, TEST_CFG)
    one_of(('whole', 'slide'), **{'model.test_cfg.mode': full['mode']})
    if full['support_points'] is not None:
        key = 'model.test_cfg.support_points'
        at_least(full['num_samples'], **{key: full['support_points']})
    areas = full['max_class_area']
    if areas is not None and not (
        len(areas) == num_classes and all(0 <= area <= 1 for area in areas)
    ):
        raise UserError(
            f'model.test_cfg.max_class_area={list(areas)}: expected a number '
            f'from 0 to 1 for each of {num_classes} classes.'
        )
    for key in ('crop_size', 'stride'):
        full[key] = _window_sides(key, full[key], full['mode'])
    if full['stride'] and any(
        map(int.__gt__, full['stride'], full['crop_size'])
    ):
        raise UserError(
            f'model.test_cfg.stride={full["stride"]} leaves gaps between '
            f'windows of crop_size={full["crop_size"]}: make it smaller.'
        )
    return full


def _window_sides(key: str, value: Any, mode: str) -> tuple[int, int] | None:
    if mode == 'whole':
        if value is not None:
            raise UserError(
                f'model.test_cfg.{key}={value!r} is of windows, but '
                "model.test_cfg.mode='whole' has none: set mode='slide', or "
                f'leave {key} out.'
            )
        return None
    sides = (value, value) if isinstance(value, int) else value
    if not sides or len(sides) != 2 or min(sides) < 1:
        raise UserError(
            f"model.test_cfg.{key}={value!r}: mode='slide' needs a height and "
            'width in pixels.'
        )
    return int(sides[0]), int(sides[1])


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
