"""Tables and verdicts from records."""

import json
import re
from pathlib import Path

import pytest

from mmcar.utils.errors import UserError

from ..benchmark.ours import FED
from ..benchmark.page import (
    adversary_table,
    all_tables,
    fill_page,
    rows_of,
    score_table,
    summary,
    verdict,
)
from ..benchmark.tasks import TASKS

PROJECT = Path(__file__).parents[1]


def record(method, ged, seed=0, part='final', setting='a', **scores):
    return dict(
        task='bubil',
        method=method,
        setting=setting,
        seed=seed,
        part=part,
        commit='0123456789abc',
        folder=f'bubil/{part}/{method}',
        trainings=['bubil/trainings/x'],
        iterations=[12],
        train_seconds=90.0,
        parameters=114000,
        budget=30.0,
        scores={'GED_16': ged, 'HM-IoU_16': 0.5, **scores},
    )


def three(method, *geds, **scores):
    return [record(method, g, i, **scores) for i, g in enumerate(geds)]


def test_a_cell_is_mean_and_spread_over_seeds():
    (row,) = rows_of(three('ssn', 0.1, 0.2, 0.3), TASKS['bubil'])
    assert row.cell('GED_16') == '.200 ± .100'
    assert row.cell('train_minutes') == '1.50'
    assert row.cell('parameters') == '114'
    assert row.cell('NLL') == ''


def test_rows_that_did_not_run_stay_empty():
    table = score_table(three('ssn', 0.1, 0.2, 0.3), TASKS['bubil'])
    assert re.search(r'\| MC dropout \|( +\|)+ 0 \|', table)
    assert 'flip' not in table.splitlines()[0]


@pytest.mark.parametrize(
    ('ours', 'peer', 'wins', 'words'),
    [
        ((0.1, 0.1, 0.11), (0.2, 0.2, 0.21), True, 'ahead by 0.100'),
        ((0.1, 0.1, 0.3), (0.2, 0.2, 0.21), False, 'not by more'),
        ((0.3, 0.3, 0.31), (0.2, 0.2, 0.21), False, 'behind by 0.100'),
    ],
)
def test_a_win_is_one_by_more_than_the_spread(ours, peer, wins, words):
    records = [*three('training_free', *ours), *three('ssn', *peer)]
    found, sentence = verdict(rows_of(records, TASKS['bubil']), 'GED_16')
    assert found is wins
    assert words in sentence


def test_larger_is_better_for_hm_iou():
    records = three('tuned', 0.1, 0.1, 0.1, **{'HM-IoU_16': 0.7})
    records += three('ssn', 0.1, 0.1, 0.1, **{'HM-IoU_16': 0.6})
    rows = rows_of(records, TASKS['bubil'])
    assert verdict(rows, 'HM-IoU_16')[0]
    assert not verdict(rows, 'GED_16')[0]  # equal is no win


def test_what_is_not_won_comes_first():
    records = [*three('tuned', 0.1, 0.1, 0.11), *three('ssn', 0.2, 0.2, 0.2)]
    for one in three('tuned', 0.1, 0.1, 0.1) + three('ssn', 0.05, 0.05, 0.05):
        records.append(dict(one, task='kits'))
    for one in records:
        one['scores']['HM-IoU_16'] = 0.9 if one['method'] == 'tuned' else 0.1
    budget, _, first, second, *rest = summary(records).splitlines()
    assert '30 processor seconds' in budget
    assert 'KiTS' in first and 'does not win' in first
    assert 'BU-BIL' in second and 'ours wins' in second
    assert 'Not finished: 2 of 11 methods, at least 3 of 3 seeds' in second
    assert all('did not run' in line for line in rest) and len(rest) == 2


def test_tables_have_the_methods_that_fit_and_what_is_possible():
    assert 'tuned F' not in score_table([], TASKS['camvid'])
    control = score_table([], TASKS['kits_control'])
    assert 'recipe' in control and 'Stochastic' not in control
    bound = dict(record('perfect', 0.01, part='bound'))
    for key in ('train_seconds', 'parameters', 'iterations'):
        bound.pop(key)
    *_, last = score_table([bound], TASKS['bubil']).splitlines()
    assert '.010' in last and 'annotations' in last


def test_diets_of_d_are_compared_over_seeds():
    setting = 'without D, lr 0.001'
    runs = [
        record('recipe', ged, seed, part='diet', setting=setting)
        for seed, ged in enumerate((0.1, 0.2, 0.3))
    ]
    fed = record('recipe', 0.1, part='diet', setting=f'{FED}, lr 0.001')
    fed['logged'] = [dict(loss=[1.0, 0.5]), dict(d_acc=[0.5, 0.75])]
    other = record('recipe', 0.9, part='diet', setting='without D, lr 0.003')
    _, _, without, head_start = adversary_table(
        [*runs, fed, other]
    ).splitlines()
    assert '.200 ± .100' in without and without.endswith('| 3 |')
    assert '| 75.0 | 30 | 1 |' in head_start


def test_the_page_is_that_of_the_results():
    """Whoever changes a figure by hand is found out."""
    results = PROJECT / 'results.json'
    records = json.loads(results.read_text())
    page = (PROJECT / 'README.md').read_text()
    assert fill_page(page, records) == page


def test_a_page_without_a_table_is_refused():
    with pytest.raises(UserError, match='settings'):
        fill_page('<!-- table: runs -->\n<!-- end -->', [])
    assert set(all_tables([])) >= {'summary', 'bubil', 'settings', 'runs'}
