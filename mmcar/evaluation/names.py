"""Short names of scores, as in ``tools/test.py --eval GED HM-IoU``."""

from collections.abc import Sequence

from ..utils.errors import UserError

_STOCK = ('mIoU', 'mDice', 'mFscore')
_NAMES = {
    'GED': 'GEDMetric',
    'diversity': 'GEDMetric',
    'HM-IoU': 'HMIoUMetric',
    'D_max': 'HMIoUMetric',
    'ECE': 'CalibrationMetric',
    'MCE': 'CalibrationMetric',
    'Brier': 'CalibrationMetric',
    'NLL': 'CalibrationMetric',
    'offset': 'CalibrationMetric',
    'flips': 'FlipMetric',
    **dict.fromkeys(_STOCK, 'IoUMetric'),
}


def metric_configs(
    names: Sequence[str], num_samples: int | Sequence[int] = 16
) -> list[dict]:
    """Configs of the metrics that report the named scores.

    Args:
        names: Short names, in any case; several may share a metric.
        num_samples: Sample count, or several, for GED and HM-IoU.

    Returns:
        One config per metric, in the order of first mention.
    """
    known = {name.lower(): name for name in _NAMES}
    configs: dict[str, dict] = {}
    for name in names:
        if name.lower() not in known:
            raise UserError(
                f'no score is called {name!r}; choose from {", ".join(_NAMES)}'
            )
        name = known[name.lower()]
        metric = _NAMES[name]
        config = configs.setdefault(metric, {'type': metric})
        if metric in ('GEDMetric', 'HMIoUMetric'):
            config['num_samples'] = num_samples
        if name in _STOCK:
            scores = config.setdefault('iou_metrics', [])
            if name not in scores:
                scores.append(name)
    return list(configs.values())
