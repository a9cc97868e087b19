"""What ``train_cfg`` and ``test_cfg`` of a model take, and their defaults."""

from collections.abc import Mapping

from ...utils.checks import at_least, one_of
from ...utils.errors import UserError

TEST_CFG = dict(
    mode='whole',
    num_samples=16,
    samples_per_chunk=None,
    seed=0,
    crop_size=None,
    stride=None,
    compile=False,
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
    if full['mode'] == 'whole':
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


def complete(key: str, cfg: Mapping | None, defaults: Mapping) -> dict:
    """Fill in the defaults of ``train_cfg`` or ``test_cfg``.

    Args:
        key: Its name, for errors.
        cfg: What the config says.
        defaults: All keys there are.

    Raises:
        UserError: An unknown key, or a number of samples below one.
    """
    given = dict(cfg or {})
    unknown = set(given) - set(defaults)
    if unknown:
        raise UserError(
            f'model.{key} has unknown keys {sorted(unknown)}; it takes '
            f'{sorted(defaults)}.'
        )
    full = {**defaults, **given}
    at_least(1, **{f'model.{key}.num_samples': full['num_samples']})
    if full['samples_per_chunk'] is not None:
        name = f'model.{key}.samples_per_chunk'
        at_least(1, **{name: full['samples_per_chunk']})
    return full
