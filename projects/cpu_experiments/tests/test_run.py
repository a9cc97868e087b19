"""The tool as a user calls it, on a folder of toy images."""

import json

from tests.test_tools.project import ROOT, run, write_data

TOOL = ROOT / 'projects' / 'cpu_experiments' / 'run.py'
NOISES = ('normal', 'sobol')


def test_a_row_without_training(tmp_path):
    write_data(tmp_path / 'data', size=64)
    data = 'test_dataloader.dataset'
    arguments = [
        *('--only', 'lidc-shapes/control_gumbel', '--seeds', 1, '--jobs', 1),
        *('--work-dir', tmp_path / 'work', '--test-options'),
        f'{data}.data_root={tmp_path / "data"}',
        f'{data}.data_prefix.img_path=images/val',
        f'{data}.data_prefix.seg_map_path=annotations/val',
        'test_dataloader.num_workers=0',
        'test_dataloader.persistent_workers=False',
    ]
    first = run(TOOL, *arguments, f'{data}.indices=4')
    assert first.returncode == 0, first.stderr
    summary = json.loads((tmp_path / 'work' / 'summary.json').read_text())
    rows = [summary[f'lidc-shapes/control_gumbel/{n}'] for n in NOISES]
    assert [row['seeds'] for row in rows] == [1, 1]
    assert rows[0]['mean']['GED_16'] != rows[1]['mean']['GED_16']
    assert '| training-free (`control_gumbel`) |' in first.stdout
    assert 'bubil' not in first.stdout
    second = run(TOOL, *arguments, f'{data}.indices=3')
    assert second.returncode == 2
    assert 'belongs to another version' in second.stderr
    assert '--keep-old' in second.stderr
    assert len(second.stderr.splitlines()) == 1


def test_rows_that_do_not_exist():
    result = run(TOOL, '--only', 'camvid/gumble')
    assert result.returncode == 2
    assert 'camvid/gumbel' in result.stderr
