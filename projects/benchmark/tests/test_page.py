"""Tables and verdicts from records."""

import json
import math
import re
from pathlib import Path

import pytest

from mmcar.utils.errors import UserError

from ..benchmark.methods import DIET_RATE, METHODS, Setting
from ..benchmark.page import (
    adversary_table,
    all_tables,
    fewer_table,
    fill_page,
    runs_table,
    score_table,
    settings_table,
)
from ..benchmark.refined import FED, NO_D
from ..benchmark.rows import rows_of
from ..benchmark.tasks import TASKS
from ..benchmark.verdicts import candidate, diet_verdict, summary, verdict

BUBIL = TASKS['bubil']
PROJECT = Path(__file__).parents[1]


def record(method, ged, seed=0, part='final', setting=None, **scores):
    usual = Setting(METHODS[method].variants[0], 1e-3)
    return dict(
        task='bubil',
        method=method,
        setting=setting or str(usual),
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


def three(method, *geds, tuned=None, **scores):
    """A row of seeds, and the run by which its setting was chosen."""
    chosen = record(method, geds[0] if tuned is None else tuned, part='tune')
    runs = [record(method, g, i, **scores) for i, g in enumerate(geds)]
    return [chosen, *runs]


def judged(records, key='GED_16'):
    rows = rows_of(records, BUBIL)
    others = [row for row in rows if not METHODS[row.method].ours]
    return verdict(candidate(records, BUBIL, rows), others, key)


def test_a_cell_is_mean_and_spread_over_seeds():
    (row,) = rows_of(three('ssn', 0.1, 0.2, 0.3), BUBIL)
    assert row.cell('GED_16') == '.200 ± .100'
    assert row.cell('train_minutes') == '1.50'
    assert row.cell('parameters') == '114'
    assert row.cell('NLL_smoothed') == ''


def test_rows_that_did_not_run_stay_empty():
    table = score_table(three('ssn', 0.1, 0.2, 0.3), BUBIL)
    assert re.search(r'\| MC dropout \|( +\|)+ 0 \|', table)
    assert 'flip' not in table.splitlines()[0]


def test_only_the_setting_that_won_counts():
    records = three('ssn', 0.1, 0.2, 0.3)
    records.append(record('ssn', 0.01, setting='rank 5, lr 0.001'))
    # One that is tried no longer, and one that failed, do not win.
    old = record('ssn', 0.01, part='tune', setting='rank 7, lr 0.001')
    nan = record('ssn', math.nan, part='tune', setting='rank 5, lr 0.001')
    (row,) = rows_of([nan, old, *records], BUBIL)
    assert row.values('GED_16') == [0.1, 0.2, 0.3]
    table = settings_table([nan, old, *records])
    assert '**rank 10, lr 0.001: 0.100**' in table and 'rank 7' not in table
    table = runs_table([nan, *records])
    assert '| rank 10, lr 0.001 | 30 | 2 |' in table


def test_trainings_of_different_length_are_not_compared():
    records = three('ssn', 0.1, 0.2, 0.3)
    records[1] = dict(records[1], budget=60.0)
    with pytest.raises(UserError, match=r'bubil: .*30 and 60 seconds'):
        score_table(records, BUBIL)
    other = dict(record('ssn', 0.1, part='diet'), budget=99.0)
    rows_of([*three('ssn', 0.1, 0.2, 0.3), other], BUBIL)


def test_a_seed_that_failed_is_shown_and_never_wins():
    records = three('tuned', 0.1, 0.1, math.nan, **{'HM-IoU_16': 0.9})
    records[-1].update(failed='f8: loss_ce not finite', iterations=[])
    records += three('ssn', 0.5, 0.5, 0.51)
    assert '.100 ± .000' in score_table(records, BUBIL)
    assert '| 3, 1 failed |' in score_table(records, BUBIL)
    assert 'failed: f8: loss_ce' in runs_table(records)
    text = summary(records)
    assert 'does not win' in text and '1 of its seeds failed' in text


@pytest.mark.parametrize(
    ('ours', 'other', 'wins', 'words'),
    [
        ((0.1, 0.1, 0.11), (0.2, 0.2, 0.21), True, 'ahead by .100'),
        ((0.1, 0.1, 0.3), (0.2, 0.2, 0.21), False, 'not by more'),
        ((0.3, 0.3, 0.31), (0.2, 0.2, 0.21), False, 'behind by .100'),
        ((0.1,), (0.2, 0.2, 0.21), False, 'unknown spread'),
    ],
)
def test_a_win_is_one_by_more_than_the_spread(ours, other, wins, words):
    records = [*three('training_free', *ours), *three('ssn', *other)]
    found, sentence = judged(records)
    assert found is wins
    assert words in sentence


def test_larger_is_better_for_hm_iou():
    records = three('tuned', 0.1, 0.1, 0.1, **{'HM-IoU_16': 0.7})
    records += three('ssn', 0.1, 0.1, 0.1, **{'HM-IoU_16': 0.6})
    assert judged(records, 'HM-IoU_16')[0]
    assert not judged(records)[0]  # equal is no win


def test_every_other_has_to_be_beaten_by_more_than_its_own_spread():
    records = three('tuned', 0.1, 0.1, 0.1)
    records += three('ssn', 0.2, 0.2, 0.2) + three('views', 0.1, 0.3, 0.5)
    wins, sentence = judged(records)
    assert not wins
    assert 'test-time augmentation .300 ± .200' in sentence


def test_one_row_of_ours_stands_for_all():
    """A row that is best in one score each would be a false win."""
    records = three('tuned', 0.1, 0.1, 0.1, tuned=0.5, **{'HM-IoU_16': 0.1})
    records += three(
        'training_free', 0.4, 0.4, 0.4, tuned=0.2, **{'HM-IoU_16': 0.9}
    )
    records += three('ssn', 0.3, 0.3, 0.3)
    line = summary(records).splitlines()[2]
    assert 'ours does not win in both' in line
    assert 'training-free on F .400' in line and 'tuned' not in line


def test_what_is_not_won_comes_first():
    others = [name for name, method in METHODS.items() if not method.ours]
    records = []
    for name, method in METHODS.items():
        if method.fits(TASKS['bubil']):
            ged = 0.2 if name in others else 0.1
            records += three(name, ged, ged, ged)
    for one in three('tuned', 0.1, 0.1, 0.1) + three('ssn', 0.05, 0.05, 0.05):
        records.append(dict(one, task='kits'))
    for one in three('tuned', 0.1, 0.1, 0.1) + three('ssn', 0.2, 0.2, 0.2):
        records.append(dict(one, task='ct'))
    for one in records:
        high = one['method'] not in others
        one['scores'] = one['scores'] | {'HM-IoU_16': 0.9 if high else 0.1}
    budget, _, *lines = summary(records).splitlines()
    lost, (won, *_, missing) = lines[:2], lines[2:]
    assert ': 30 and 30 (BU-BIL' in budget
    # Who did not run yet may still win.
    assert 'CT: not decided' in lost[0]
    assert 'Not finished: 2 of 11 methods, at least 3 of 3 seeds' in lost[0]
    assert 'KiTS' in lost[1] and 'does not win' in lost[1]
    assert 'BU-BIL cells: ours wins' in won and 'Not finished' not in won
    assert 'CamVid' in missing and 'did not run' in missing


def test_tables_have_the_methods_that_fit_and_what_is_possible():
    assert 'tuned F' not in score_table([], TASKS['camvid'])
    control = score_table([], TASKS['kits_control'])
    assert 'recipe' in control and 'Stochastic' not in control
    bound = dict(record('ssn', 0.01, part='bound'), method='perfect')
    for key in ('train_seconds', 'parameters', 'iterations'):
        bound.pop(key)
    *_, last = score_table([bound], TASKS['bubil']).splitlines()
    assert '.010' in last and 'annotations' in last


def test_fewer_samples_stand_beside_independent_ones_of_the_same_f():
    records = three('training_free', 0.2, 0.2, 0.2)
    usual = records[0]['setting']
    for ged, setting in ((0.15, usual), (0.1, 'fields, lr 0.1')):
        one = record('training_free', ged, part='fewer', setting=setting)
        records.append(dict(one, method='Sobol noise'))
    _, _, independent, sobol = fewer_table(records).splitlines()
    assert '| independent | .200 ± .000 |' in independent
    assert '| Sobol noise | .150 |' in sobol


def diet(variant, geds, floods, accuracy=None):
    """Runs of a diet with several seeds."""
    setting = str(Setting(variant, DIET_RATE))
    runs = []
    for seed, (ged, flood) in enumerate(zip(geds, floods, strict=True)):
        run = record('recipe', ged, seed, 'diet', setting, flood_rate_16=flood)
        run['logged'] = [dict(loss=[1.0, 0.5])]
        if accuracy:
            run['logged'].append(dict(d_acc=[0.5, accuracy]))
        runs.append(run)
    return runs


def test_diets_of_d_are_compared_over_seeds():
    runs = diet(NO_D, (0.1, 0.2, 0.3), (0.02, 0.02, 0.02))
    fed = diet(FED, (0.1,), (0.01,), 0.75)
    other = record('recipe', 0.9, 0, 'diet', 'without D, lr 0.5')
    table = adversary_table([*runs, *fed, other])
    *_, without, head_start = table.splitlines()
    assert '.200 ± .100' in without and without.endswith('| 3 |')
    assert '| 75.0 | 30 | 1 |' in head_start


@pytest.mark.parametrize(
    ('geds', 'floods', 'accuracy', 'earns'),
    [
        ((0.21, 0.2, 0.2), (0.01, 0.011, 0.01), 0.8, True),
        ((0.21, 0.2, 0.2), (0.01, 0.011, 0.01), 0.5, False),  # chance
        ((0.3, 0.3, 0.301), (0.01, 0.011, 0.01), 0.8, False),  # harms GED
        ((0.21, 0.2, 0.2), (0.01, 0.03, 0.01), 0.8, False),  # not every seed
        ((0.21, 0.2, 0.2), (0.02, 0.02, 0.021), 0.8, False),  # no gain
    ],
)
def test_a_diet_earns_its_keep_without_harm(geds, floods, accuracy, earns):
    records = diet(NO_D, (0.2, 0.2, 0.21), (0.02, 0.02, 0.021))
    records += diet(FED, geds, floods, accuracy)
    (line,) = diet_verdict(records).splitlines()
    assert ('improves floods, % 1.03' in line) is earns
    assert ('no way to train D' in line) is not earns


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


def test_diets_are_compared_seed_by_seed():
    """F differs more between seeds than D changes; each seed has one F."""
    records = diet(NO_D, (0.2, 0.25, 0.3), (0.02, 0.05, 0.09))
    records += diet(FED, (0.2, 0.25, 0.3), (0.01, 0.04, 0.081), 0.6)
    (line,) = diet_verdict(records).splitlines()
    assert '(1.00, 1.00, .90 better by seed)' in line
