import json
from pathlib import Path

import pytest

from mmcar.utils.errors import UserError

from ..cpu_experiments.suite import TABLES
from ..cpu_experiments.tables import (
    COLUMNS,
    all_tables,
    fill_page,
    offset_table,
    score_table,
)

PROJECT = Path(__file__).parents[1]
SUMMARY = json.loads((PROJECT / 'summary.json').read_text())


def test_the_results_page_shows_the_summary():
    page = (PROJECT / 'README.md').read_text()
    assert page == fill_page(page, SUMMARY), 'run: run.py --tables'


def test_every_row_of_the_summary_is_shown():
    shown = {key for table in TABLES.values() for _, key in table.lines}
    assert set(SUMMARY) == shown


def record(**mean):
    names = {'GED': 'GED_16', 'error': 'flip_error'}
    mean = {names.get(key, key): value for key, value in mean.items()}
    return dict(seeds=1, mean=mean, spread={})


def test_cells():
    show = COLUMNS['GED_16'].show
    both = dict(mean={'GED_16': 0.03456}, spread={'GED_16': 1.5})
    assert show(both, 'GED_16') == '.0346 ± 1.5000'
    assert show(record(GED=-0.5), 'GED_16') == '-.5000'
    assert show(record(), 'GED_16') == ''
    points = COLUMNS['flip_error'].show
    assert points(record(error=0.353), 'flip_error') == '35.3 points'
    assert points(record(error=0.008), 'flip_error') == '.8 points'


def test_score_table():
    costs = dict(minutes=6.6, parameters=214_000)
    summary = {
        'camvid/bounds/perfect sampler': record(GED=0.1),
        'camvid/control_recipe/normal': record(GED=0.2, error=0.01) | costs,
        'camvid/control_gumbel/normal': record(GED=0.3) | dict(seeds=3),
    }
    head, _, *lines = score_table(
        TABLES['camvid control'], summary
    ).splitlines()
    heads = [cell.strip() for cell in head.split('|')]
    rows = [[cell.strip() for cell in line.split('|')] for line in lines]
    tables = [dict(zip(heads, row, strict=True)) for row in rows]
    # The order of the suite, not that of the summary.
    assert [row[1] for row in rows] == [
        '*bound: perfect sampler*',
        'training-free (`control_gumbel`)',
        'mmcar recipe (`control_recipe`)',
    ]
    bound, free, recipe = tables
    assert bound['seeds'] == '' and free['seeds'] == '3'
    assert recipe['minutes'] == '7' and free['minutes'] == ''
    assert recipe['parameters'] == '0.21 M'
    assert recipe['worst flip frequency error'] == '1.0 points'
    assert bound['worst flip frequency error'] == ''


def test_offset_table():
    offsets = {'offset/pavement2': 0.05, 'offset_samples/car2': 0.25}
    table = offset_table({'camvid/recipe/normal': record(**offsets)})
    _, _, f, samples = table.splitlines()
    assert f == '| F | 5.0 | - | - | - | - | - |'
    assert samples == "| recipe's samples | - | - | 25.0 | - | - | - |"


def test_marks_of_a_page():
    marks = [f'<!-- table: {n} -->\nold\n<!-- end -->' for n in all_tables({})]
    page = 'Before.\n\n' + '\n\nBetween.\n\n'.join(marks) + '\n\nAfter.'
    filled = fill_page(page, {})
    assert 'old' not in filled
    assert filled.count('Between.') == len(marks) - 1
    assert filled == fill_page(filled, {})
    for wrong in (page.replace('table: bubil ', 'table: cells '), 'nothing'):
        with pytest.raises(UserError, match='expected each of'):
            fill_page(wrong, {})
