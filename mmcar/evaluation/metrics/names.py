"""Names of scores, as in ``tools/test.py --eval GED HM-IoU MyMetric``."""

import inspect
from collections.abc import Mapping, Sequence

from mmseg.registry import METRICS

from ...utils.errors import UserError
from .base import SampleMetric

_STOCK = ('mIoU', 'mDice', 'mFscore')
_SHORT = {
    'GED': 'GEDMetric',
    'diversity': 'GEDMetric',
    'HM-IoU': 'HMIoUMetric',
    'D_max': 'HMIoUMetric',
    'CRPS': 'CRPSMetric',
    'ECE': 'CalibrationMetric',
    'MCE': 'CalibrationMetric',
    'Brier': 'CalibrationMetric',
    'NLL': 'CalibrationMetric',
    'offset': 'CalibrationMetric',
    'flips': 'FlipMetric',
    'flood-rate': 'FloodMetric',
    'black-box-mIoU': 'BlackBoxIoUMetric',
    **dict.fromkeys(_STOCK, 'FiniteIoUMetric'),
}
# Which of two scores is better, by how their names begin.
_LESS = ('GED', 'CRPS', 'ECE', 'MCE', 'Brier', 'NLL', 'offset', 'flood_rate')
_GREATER = ('HM-IoU', 'D_max', 'aAcc', 'mAcc', *_STOCK)
# Whose settings in a config a metric takes over, beside its own.
_SETTINGS_OF = {'FiniteIoUMetric': 'IoUMetric'}


def better(score: str) -> str | None:
    """Whether 'less' or 'greater' is better of a score; None if unknown.

    Args:
        score: As an evaluator reports it, with or without a prefix, e.g.
            ``GED_16``.
    """
    for name in score.split('/'):
        if name.startswith(_LESS):
            return 'less'
        if name.startswith(_GREATER):
            return 'greater'
    return None


def metric_configs(
    names: Sequence[str],
    num_samples: int | Sequence[int] = 16,
    configured: Sequence[Mapping] = (),
) -> list[dict]:
    """Configs of the metrics that report the named scores.

    Args:
        names: Short names in any case, of which several may share a metric,
            or names under which metrics are registered.
        num_samples: Sample count, or several, for metrics that take it.
        configured: Metrics of a config; what they say of a metric that is
            named stays as it is.

    Returns:
        One config per metric, in the order of first mention.
    """
    METRICS.import_from_location()
    registered = {**METRICS.parent.module_dict, **METRICS.module_dict}
    settings = {}
    for config in configured:  # a type may be a class
        kind = config['type']
        settings[getattr(kind, '__name__', kind)] = dict(config)
    short = {name.lower(): name for name in _SHORT}
    configs: dict[str, dict] = {}
    stock: list[str] = []
    for name in names:
        score = name if name in registered else short.get(name.lower(), name)
        metric = _SHORT.get(score, score)
        if metric not in registered:
            raise UserError(_unknown(name, registered))
        if metric not in configs:
            known = settings.get(_SETTINGS_OF.get(metric, metric), {})
            known |= settings.get(metric, {})
            configs[metric] = _complete(
                known | {'type': metric}, registered[metric], num_samples
            )
        if score in _STOCK and score not in stock:
            stock.append(score)
    if stock:
        configs['FiniteIoUMetric']['iou_metrics'] = stock
    return list(configs.values())


def _complete(
    config: dict, metric: type, num_samples: int | Sequence[int]
) -> dict:
    """Add the sample count where it belongs; refuse what cannot be built."""
    signature = inspect.signature(metric)
    if 'num_samples' in signature.parameters or issubclass(
        metric, SampleMetric
    ):
        config.setdefault('num_samples', num_samples)
    given = {k: v for k, v in config.items() if k != 'type'}
    try:
        signature.bind(**given)
    except TypeError as error:
        raise UserError(
            f'{config["type"]}: {error}, which a name does not say: put the '
            "metric into the config's test_evaluator"
        ) from error
    return config


def _unknown(name: str, registered: Mapping[str, type]) -> str:
    """What to say of a name that is neither a score nor a metric."""
    others = sorted(set(registered) - set(_SHORT.values()))
    return (
        f'no score is called {name!r}. Scores: {", ".join(_SHORT)}. '
        f'Registered metrics: {", ".join(others)}. One of your own is found '
        "once a module named in the config's custom_imports registers it in "
        'mmseg.registry.METRICS.'
    )
