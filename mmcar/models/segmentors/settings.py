"""``test_cfg`` and ``train_cfg`` of models that sample."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...utils.checks import at_least
from ...utils.errors import UserError
from ...utils.type_check import check_keys
from ...utils.windows import window_of

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

# What keys without a default hold; the others hold what their default is.
CFG_TYPES: dict[str, Any] = dict(
    samples_per_chunk=int | None,
    crop_size=int | Sequence[int] | None,
    stride=int | Sequence[int] | None,
    support_points=int | None,
    max_class_area=Sequence[float] | None,
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
    areas = full['max_class_area']
    if areas is not None and not (
        len(areas) == num_classes and all(0 <= area <= 1 for area in areas)
    ):
        raise UserError(
            f'model.test_cfg.max_class_area={list(areas)}: expected a number '
            f'from 0 to 1 for each of {num_classes} classes.'
        )
    window = window_of(full, 'model.test_cfg')
    if window:
        full['crop_size'], full['stride'] = window
    elif full['crop_size'] or full['stride']:
        raise UserError(
            "model.test_cfg.mode='whole': leave crop_size and stride out"
        )
    return full


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
    types = {k: CFG_TYPES.get(k, type(v)) for k, v in defaults.items()}
    check_keys(f'model.{key}', cfg or {}, types)
    full = {**defaults, **(cfg or {})}
    for name in ('num_samples', 'samples_per_chunk'):
        if full.get(name) is not None:
            at_least(1, **{f'model.{key}.{name}': full[name]})
    return full
