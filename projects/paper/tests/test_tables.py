"""The tables hold what was published and what was run, nothing else."""

import json

import numpy as np
import pytest

from tests.test_tools.project import ROOT, run

from ..paper.published import TABLES
from ..paper.tables import fill_page, mean_of, read_scores, show, table

CONFIGS = ROOT / 'configs' / 'car'
LIDC = 'LIDC, number of samples'
TOOL = ROOT / 'projects' / 'paper' / 'tables.py'


def write_scores(folder, config, independent=True, **scores):
    folder.mkdir(parents=True)
    report = dict(
        config=f'configs/car/{config}.py',
        independent_samples=independent,
        scores=scores,
    )
    (folder / 'test_scores.json').write_text(json.dumps(report))


def rows_of(text):
    lines = [line.split('|')[1:-1] for line in text.splitlines()]
    return [[cell.strip() for cell in line] for line in lines[2:]]


def test_every_row_is_a_config_and_an_experiment():
    path = ROOT / 'projects' / 'cpu_experiments' / 'summary.json'
    summary = json.loads(path.read_text())
    for scores, rows in TABLES.values():
        for row in rows:
            assert (CONFIGS / f'{row.config}.py').is_file(), row
            assert set(row.paper) <= set(scores), row
            assert row.cpu is None or row.cpu in summary, row


def test_the_configs_page_has_the_same_figures():
    """Each mean that the paper gives stands in that config's row there."""
    page = (CONFIGS / 'README.md').read_text()
    for _, rows in TABLES.values():
        for row in rows:
            (line,) = (
                part
                for part in page.splitlines()
                if part.startswith(f'| [{row.config}](')
            )
            for name, (mean, _) in row.paper.items():
                if name.startswith(('GED', 'HM-IoU')):
                    assert f'{mean:.3f}' in line, (row.config, name)


def test_what_was_not_run_stays_empty():
    paper, ours, *_ = rows_of(table(LIDC, {}, {}))
    assert paper[1:6] == [
        'paper',
        '0.264 ± 0.002',
        '0.248 ± 0.004',
        '0.243 ± 0.004',
        '0.592 ± 0.005',
    ]
    assert ours[1] == 'ours' and not any(ours[2:6])
    assert ours[-1] == '0'


def test_scores_of_several_runs_are_averaged(tmp_path):
    for seed, value in enumerate((0.30, 0.26, 0.31)):
        scores = {'GED_16': value, 'other': 1.0}
        write_scores(tmp_path / f'a/seed{seed}', 'car_lidc', **scores)
    write_scores(tmp_path / 'b', 'car_lidc_m5', **{'HM-IoU_16': 0.5})
    ours = read_scores([tmp_path / 'a', tmp_path / 'b'])
    rows = rows_of(table(LIDC, ours, {}))
    spread = np.std([0.30, 0.26, 0.31], ddof=1)
    assert rows[1][2] == f'0.290 ± {spread:.3f}' and rows[1][-1] == '3'
    five = rows[7]
    assert five[2:6] == ['', '', '', '0.500'] and five[-1] == '1'


def test_samples_that_are_not_independent_do_not_count(tmp_path):
    write_scores(tmp_path / 'normal', 'car_lidc', GED_16=0.3)
    write_scores(tmp_path / 'sobol', 'car_lidc', False, GED_16=0.1)
    assert read_scores([tmp_path]) == {'car_lidc': {'GED_16': [0.3]}}


def test_one_row_alone():
    whole = table(LIDC, {}, {}).splitlines()
    alone = table(LIDC, {}, {}, 'car_lidc_m5').splitlines()
    assert alone[:2] == whole[:2] and len(alone) == 4
    assert '`car_lidc_m5`' in alone[2] and alone[2] in whole


def test_cells():
    assert show(None) == '' and show((0.5, None)) == '0.500'
    assert show((0.0215, None), 4) == '0.0215'
    assert mean_of([]) is None and mean_of(None) is None
    assert mean_of([2.0]) == (2.0, None)
    assert mean_of([1.0, 3.0]) == (2.0, pytest.approx(2**0.5))


def test_the_readme_has_the_papers_lines():
    page = (ROOT / 'projects/paper/README.md').read_text()
    for name in TABLES:
        assert f'<!-- table: {name} -->' in page
        published = [
            line
            for line in table(name, {}, {}).splitlines()
            if '| paper |' in line
        ]
        assert published and all(line in page for line in published)
    assert fill_page(page, {}, {}).count('| ours |') == page.count('| ours |')


def test_the_command(tmp_path):
    write_scores(tmp_path / 'x', 'car_lidc', GED_16=0.321)
    done = run(TOOL, tmp_path)
    assert done.returncode == 0 and '0.321' in done.stdout
    wrong = run(TOOL, tmp_path / 'none')
    assert wrong.returncode == 2 and 'There is no folder' in wrong.stderr
