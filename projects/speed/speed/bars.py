"""What the tables are expected to show, and whether they do."""

from collections.abc import Callable
from typing import NamedTuple

Tables = dict[str, list[dict]]


class Bar(NamedTuple):
    """A figure that should hold.

    Attributes:
        text: What is expected.
        measure: The figure, from the tables.
        limit: Its bound.
        least: Whether the bound is a lower one.
        bound: What bounds the figure where it may not hold.
    """

    text: str
    measure: Callable[[Tables], float]
    limit: float
    least: bool
    bound: str = ''


def pick(tables: Tables, name: str, value: str, **wanted: str) -> float:
    """The value of the first row whose columns begin as told."""
    for row in tables[name]:
        if all(str(row[k]).startswith(v) for k, v in wanted.items()):
            return float(row[value])
    raise KeyError(f'{name}: no row with {wanted}')


def times(case: str, version: str, table: str = 'sampling') -> Callable:
    """How many times as long a version takes as ours."""
    return lambda t: pick(t, table, 'times_ours', case=case, version=version)


def seconds(case: str, version: str) -> Callable:
    """Seconds of a version of sampling."""
    return lambda t: pick(t, 'sampling', 'seconds', case=case, version=version)


def of_forward_pass(tables: Tables) -> float:
    """The training-free prediction as a part of DeepLabV3's forward pass."""
    free = seconds('training-free', 'whole')(tables)
    return free / seconds('DeepLabV3', 'forward')(tables)


def beside_networks(case: str) -> Callable:
    """Share of a test that is neither networks nor data."""
    return lambda t: sum(
        pick(t, 'runs', part, case=case)
        for part in ('metrics', 'writing', 'rest')
    )


def beside_input(kind: str) -> Callable:
    """Memory of a prediction, without label maps, as a part of its input."""

    def measure(tables: Tables) -> float:
        wanted = dict(case=f'training-free 1024x2048, 19 classes, {kind}')
        peak, size, maps = (
            pick(tables, 'memory', key, version='whole', **wanted)
            for key in ('peak_mb', 'input_mb', 'maps_mb')
        )
        return (peak - maps) / size

    return measure


def more_samples(tables: Tables) -> float:
    """Memory of a step of G with 20 samples over that with 4, in chunks."""
    few, many = (
        pick(
            tables, 'memory', 'peak_mb', case='step of G', version=f'M = {m},'
        )
        for m in (4, 20)
    )
    return many / few


def loop_share(name: str, phase: int) -> Callable:
    """Share of a training that is neither networks nor data."""
    case = f'training, {name}, phase {phase}'
    return lambda t: pick(t, 'runs', 'rest', case=case)


def two_ranks(case: str) -> Callable:
    """How many times as fast two ranks are as one."""
    return lambda t: 2 ** (1 - pick(t, 'scaling', 'exponent', case=case))


def other(case: str, value: str = 'times_ours') -> Callable:
    """A figure of the comparison with anearlier version."""
    return lambda t: pick(t, 'baseline', value, case=case)


def exponent(case: str) -> Callable:
    """How far an exponent is from 1."""
    return lambda t: abs(pick(t, 'scaling', 'exponent', case=case) - 1)


CONVOLUTIONS = (
    'convolutions take four fifths of the time, at the rate of a large '
    'product of matrices (92 of 90 GFLOP/s on one processor): without '
    'anything else it would be 2.6 times as fast as plain there, where one '
    'of twice that rate had 4.7; the compiler leaves them as they are: the '
    'folded decoder compiled took 0.93 of the time here, and 1.03 at 256x512'
)
LARGE_CONVOLUTIONS = (
    'convolutions take three fifths of the time, at the rate of a large '
    'product of matrices (106 of 90 GFLOP/s on one processor): without '
    'anything else it would be 3.4 times as fast as plain there, where one '
    'of twice that rate had 5.5; the folded decoder compiled took 1.03 of '
    'the time'
)
PASSES = (
    'convolutions and their backward passes take half of our step; the rest '
    'are passes over features, of noise, dropout and norms, which are in both'
)
DENORMALS = (
    'denormal numbers cost nothing in products and convolutions on this '
    'processor (their rows below); what is left is the order in memory'
)
SMALL_STEPS = (
    'steps of a tenth of a second: data samples are moved one by one, modules '
    'walked through and hooks called as in large ones'
)
RESIZED = (
    'metrics of four times the pixels, and resizing: of an untrained network '
    'every class may win in every sample; trained ones leave most out'
)
BARS = (
    Bar(
        'LIDC 128x128: over plain sampling',
        times('LIDC', 'plain, ch'),
        2.5,
        True,
        CONVOLUTIONS,
    ),
    Bar(
        'Cityscapes 256x512: over plain sampling',
        times('City', 'plain, ch'),
        2.5,
        True,
        LARGE_CONVOLUTIONS,
    ),
    Bar("LIDC: over the authors' way", times('LIDC', 'serial'), 1.2, True),
    Bar(
        "Cityscapes: over the authors' way", times('City', 'serial'), 1.2, True
    ),
    Bar(
        'LIDC, compile allowed: over plain',
        times('LIDC', 'plain, ch'),
        3.5,
        True,
        CONVOLUTIONS,
    ),
    Bar(
        'Cityscapes, compile allowed: over plain',
        times('City', 'plain, ch'),
        3.5,
        True,
        LARGE_CONVOLUTIONS,
    ),
    Bar(
        "LIDC, compile allowed: over the authors' way",
        times('LIDC', 'serial'),
        1.8,
        True,
        CONVOLUTIONS,
    ),
    Bar(
        "Cityscapes, compile allowed: over the authors' way",
        times('City', 'serial'),
        1.8,
        True,
        LARGE_CONVOLUTIONS,
    ),
    Bar(
        'LIDC: over the earlier version',
        other('RefinementUNet, 128'),
        2.5,
        True,
        CONVOLUTIONS,
    ),
    Bar(
        'Cityscapes: over the earlier version',
        other('RefinementUNet, 256'),
        2.5,
        True,
        LARGE_CONVOLUTIONS,
    ),
    Bar(
        'LIDC, compile allowed: over the earlier version',
        other('RefinementUNet, 128'),
        3.5,
        True,
        CONVOLUTIONS,
    ),
    Bar(
        'Cityscapes, compile allowed: over the earlier version',
        other('RefinementUNet, 256'),
        3.5,
        True,
        LARGE_CONVOLUTIONS,
    ),
    Bar(
        'training-free 1024x2048: seconds',
        seconds('training-free', 'whole'),
        2.5,
        False,
    ),
    Bar('... as a part of a DeepLabV3 pass', of_forward_pass, 0.2, False),
    Bar(
        '... MB beside the input',
        lambda t: pick(t, 'memory', 'peak_mb', version='whole'),
        512,
        False,
    ),
    Bar(
        '... without label maps, times the input',
        beside_input('one'),
        1.2,
        False,
    ),
    Bar(
        'fields: MB without label maps, times the input',
        beside_input('fields'),
        1.2,
        False,
    ),
    Bar(
        'at a temperature, as TunedSampler: MB without label maps, times the '
        'input',
        beside_input('at temperature'),
        2.2,
        False,
    ),
    Bar(
        'fields: seconds',
        seconds('training-free 1024x2048, 19 classes, fields', 'whole'),
        10,
        False,
    ),
    Bar(
        'metrics 1024x2048, 19 classes, 16 samples: seconds',
        lambda t: pick(t, 'test', 'seconds', case='1024', part='all'),
        1,
        False,
    ),
    Bar(
        'step of G, LIDC, over the earlier version',
        other('step of G, LIDC'),
        1.3,
        True,
        PASSES,
    ),
    Bar(
        "step of the recipe's U-Net, the quickstart's G before TunedSampler, "
        "on the quickstart's F, over the earlier version",
        other('step of G, quick'),
        5,
        True,
        DENORMALS,
    ),
    Bar(
        'memory of a step of G in chunks of 4, M = 20 over M = 4',
        more_samples,
        1.2,
        False,
    ),
    Bar(
        'training of F, quickstart: share of loop and hooks',
        loop_share('quickstart/car_lidc-shapes.py', 1),
        0.05,
        False,
        SMALL_STEPS,
    ),
    Bar(
        'training of G, quickstart: share of loop and hooks',
        loop_share('quickstart/car_lidc-shapes.py', 2),
        0.05,
        False,
        SMALL_STEPS,
    ),
    Bar(
        'training of F, LIDC: share of loop and hooks',
        loop_share('car/car_lidc.py', 1),
        0.05,
        False,
    ),
    Bar(
        'training of G, LIDC: share of loop and hooks',
        loop_share('car/car_lidc.py', 2),
        0.05,
        False,
    ),
    Bar(
        'test, LIDC, 16 samples: share beside networks',
        beside_networks('test, 128x128, 2 classes, 16 samples, --out'),
        0.15,
        False,
    ),
    Bar(
        'test, LIDC, 100 samples: share beside networks',
        beside_networks('test, 128x128, 2 classes, 100'),
        0.15,
        False,
        'files are flushed to disk one by one',
    ),
    Bar(
        'test, Cityscapes: share beside networks',
        beside_networks('test, 256x512, '),
        0.15,
        False,
        'without a black box, which would take longer than all of it',
    ),
    Bar(
        'test, Cityscapes, images twice as large: share beside networks',
        beside_networks('test, 256x512 of 512x1024'),
        0.15,
        False,
        RESIZED,
    ),
    Bar(
        'exponent of samples, training-free: from 1',
        exponent('GumbelSampler, samples'),
        0.1,
        False,
        'classes that cannot win are found once per image',
    ),
    Bar(
        'exponent of samples, RefinementUNet: from 1',
        exponent('RefinementUNet, samples'),
        0.1,
        False,
        'encoding costs as much as three samples',
    ),
    Bar(
        'exponent of pixels, training-free: from 1',
        exponent('GumbelSampler, pixels'),
        0.1,
        False,
    ),
    Bar(
        'exponent of pixels, RefinementUNet: from 1',
        exponent('RefinementUNet, pixels'),
        0.1,
        False,
        'at 128x128 a part of the time, calls and weights that the noise '
        'scales, does not grow with pixels; features of 512x512 take 33 MB, '
        'more than most caches hold',
    ),
    Bar(
        'two ranks over one',
        two_ranks('step of G'),
        1.7,
        True,
        'cores share memory and cache',
    ),
    Bar(
        'two ranks over one, on the clock',
        two_ranks('the same, on the clock'),
        1.7,
        True,
        'ranks wait for each other, and for other work of the machine',
    ),
    Bar(
        'same pixels, LIDC',
        other('RefinementUNet, 128', 'same_pixels'),
        0.9999,
        True,
    ),
    Bar(
        'same pixels, Cityscapes',
        other('RefinementUNet, 256', 'same_pixels'),
        0.9999,
        True,
    ),
    Bar(
        'same pixels, training-free',
        other('training-free', 'same_pixels'),
        1,
        True,
    ),
)


def bar_rows(tables: Tables) -> list[dict]:
    """A row per bar whose tables are there."""
    rows = []
    for bar in BARS:
        try:
            value = bar.measure(tables)
        except KeyError:
            continue  # a table that this run does not have
        met = value >= bar.limit if bar.least else value <= bar.limit
        rows.append(
            {
                'goal': bar.text,
                'expected': f'{"at least" if bar.least else "at most"} '
                f'{bar.limit:g}',
                'measured': value,
                'met': 'yes' if met else 'no',
                'what bounds it': '' if met else bar.bound,
            }
        )
    return rows
