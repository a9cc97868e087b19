"""Plot and tables of long trainings."""

import pytest

from ..cpu_experiments.long_page import draw, table

RECORDS = {
    'lidc-shapes/long': {
        'iterations': [250, 500, 750, 1000],
        'minutes': [1.0, 2.0, 3.0, 3.4],
        'GED_16': [0.5, 0.4, 0.3, 0.25],
        'HM-IoU_16': [0.1, 0.2, 0.5, 0.7],
    },
    'lidc-shapes/long_recipe': {
        'iterations': [250],
        'minutes': [2.0],
        'GED_16': [0.03],
        'HM-IoU_16': [0.88],
    },
    'lidc-shapes/long_gumbel': {'GED_16': 0.029, 'HM-IoU_16': 0.9},
    'lidc-shapes/perfect sampler': {'GED_16': 0.024, 'HM-IoU_16': 0.91},
    'camvid/long': {
        'iterations': [250],
        'minutes': [0.6],
        'GED_16': [1.25],
    },
}


def test_table():
    assert table(RECORDS, 'lidc-shapes').splitlines() == [
        '|  | 250 | 500 | 1000 | last | GED 16, third quarter '
        '| last quarter | iterations | minutes |',
        '|---|---|---|---|---|---|---|---|---|',
        "| paper's recipe (`long`) | .500 / .100 | .400 / .200 "
        '| .250 / .700 | .250 / .700 | .300 | .250 | 1000 | 3 |',
        '| mmcar recipe, Sobol noise (`long_recipe`) | .030 / .880 |  |  '
        '| .030 / .880 '
        '|  |  | 250 | 2 |',
        '| training-free |  |  |  | .029 / .900 |  |  | 0 | 0 |',
        '| perfect sampler |  |  |  | .024 / .910 |  |  | 0 | 0 |',
    ]
    assert table(RECORDS, 'camvid').splitlines()[2:] == [
        "| paper's recipe (`long`) | 1.250 | 1.250 |  |  | 250 | 1 |"
    ]


@pytest.mark.parametrize('column, key', [(0, 'iterations'), (1, 'minutes')])
def test_plot_shows_every_run_and_line(column, key):
    axes = draw(RECORDS).axes[column]
    drawn = {line.get_label(): line for line in axes.lines}
    assert list(drawn) == [
        "paper's recipe",
        'mmcar recipe, Sobol noise',
        'training-free',
        'perfect sampler',
    ]
    for label, name in (
        ("paper's recipe", 'long'),
        ('mmcar recipe, Sobol noise', 'long_recipe'),
    ):
        record = RECORDS[f'lidc-shapes/{name}']
        assert list(drawn[label].get_xdata()) == record[key]
        assert list(drawn[label].get_ydata()) == record['GED_16']
    assert set(drawn['training-free'].get_ydata()) == {0.029}


def test_plot_leaves_out_what_has_not_run():
    records = {'camvid/long': RECORDS['camvid/long']}
    assert len(draw(records).axes) == 2
