"""What the experiment runs, and what it makes of the results."""

import json
import re

import pytest
from mmengine.config import Config

from mmcar.utils.errors import UserError
from tests.test_tools.project import ROOT, run

from ..synthetic_cityscapes.configs import Iterations, write_configs
from ..synthetic_cityscapes.measuring import Cost
from ..synthetic_cityscapes.report import (
    broken_promises,
    cost_table,
    fill_page,
    score_lines,
)
from ..synthetic_cityscapes.steps import (
    CARD_DIR,
    DRAW,
    Step,
    all_steps,
    saved_iteration,
    stage_seconds,
    stock_scores,
)

CARD = ROOT / 'configs/car/car_deeplabv3_cityscapes24.py'
ITERATIONS = Iterations(30, 20, 10)


def flat(node, prefix=''):
    """Every setting of a config by its path."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        path = f'{prefix}.{key}'.lstrip('.')
        if isinstance(value, dict | list | tuple) and value:
            yield from flat(value, path)
        else:
            yield path, value


def test_nothing_but_b_and_iterations_differs_from_the_card(tmp_path):
    write_configs(tmp_path, ITERATIONS)
    card = dict(flat(Config.fromfile(CARD).to_dict()))
    found = Config.fromfile(tmp_path / 'card.py').to_dict()
    found = dict(flat(found))
    changed = {
        key
        for key in card.keys() | found.keys()
        if card.get(key) != found.get(key)
    }
    assert changed == {
        'black_box.config',
        'black_box.checkpoint',
        'model.decode_head.black_box.config',
        'model.decode_head.black_box.checkpoint',
        'stage_1.iters',
        'stage_2.iters',
        'train_cfg.phases.0.iters',
        'train_cfg.phases.1.iters',
        'train_cfg.val_interval',
        'default_hooks.checkpoint.interval',
        'default_hooks.logger.interval',
    }
    assert [found[f'train_cfg.phases.{i}.iters'] for i in (0, 1)] == [
        20,
        10,
    ]
    black_box = Config.fromfile(tmp_path / 'fast_scnn.py')
    assert black_box.train_cfg.max_iters == 30


def test_the_commands_are_those_of_the_docs():
    steps = {step.name: step for step in all_steps(ITERATIONS)}
    tools = [str(step.command[0]) for step in steps.values()]
    docs = (ROOT / 'docs/do/cityscapes24.md').read_text()
    listed = re.findall(r'^python (\S+\.py)', docs, re.MULTILINE)
    assert {'tools/train.py', 'projects/paper/figures.py'} <= {*listed}
    ours = [t.removeprefix(f'{ROOT}/') for t in tools if t != str(DRAW)]
    ours = [tool for tool in ours if tool.startswith(('tools', 'projects'))]
    assert {*ours} == {*listed} - {'tools/analysis_tools/training_memory.py'}
    stock = [t for t in tools if 'mmseg/.mim/tools' in t]
    assert len(stock) == 2 and len(ours) >= 6
    train = steps['train F, G and D']
    assert '--cfg-options' not in [*train.command]
    assert train.command[1] == 'card.py'


def checkpoint(folder, iteration):
    path = folder / CARD_DIR / f'iter_{iteration}.pth'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def test_training_is_killed_in_its_second_stage(tmp_path, monkeypatch):
    train = next(s for s in all_steps(ITERATIONS) if s.kill_when)
    assert saved_iteration(tmp_path) == 0 and not train.kill_when(tmp_path)
    checkpoint(tmp_path, 20)
    assert not train.kill_when(tmp_path)
    ran = []

    def measured(command, folder, log, kill_when=None):
        ran.append(kill_when)
        if kill_when is not None:
            checkpoint(tmp_path, 22)
            assert kill_when()
        return Cost(1, 1, 1)

    monkeypatch.setitem(Step.run.__globals__, 'run_measured', measured)
    train.read = None
    cost, found = train.run(tmp_path)
    assert cost == Cost(2, 2, 1) and found == {'killed_after': 22}
    assert [kill is None for kill in ran] == [False, True]
    train.run(tmp_path)  # killed once before: it goes on to its end
    assert [kill is None for kill in ran] == [False, True, True]


def test_times_of_the_stages(tmp_path):
    log = tmp_path / CARD_DIR / '20260101_000000/vis_data/scalars.json'
    log.parent.mkdir(parents=True)
    lines = [dict(loss_ce=1.0, time=t) for t in (1, 2, 30)]
    lines += [dict(loss_adv=1.0, time=t) for t in (7, 9, 8)]
    lines += [dict(GED_16=0.1)]
    log.write_text('\n'.join(map(json.dumps, lines)))
    assert stage_seconds(tmp_path) == dict(seconds_F=2, seconds_G=8)


def test_scores_of_mmseg_are_those_of_its_last_run(tmp_path):
    with pytest.raises(UserError, match='no scores'):
        stock_scores(tmp_path)
    for day, value in (('1', 40.0), ('2', 41.5)):
        path = tmp_path / f'work_dirs/stock/2026010{day}/x.json'
        path.parent.mkdir(parents=True)
        found = dict(mIoU=value, aAcc=90.0, mAcc=50.0, time=1)
        path.write_text(json.dumps(found))
    assert stock_scores(tmp_path) == dict(mIoU=41.5, aAcc=90.0, mAcc=50.0)


def record_of(live=41.5, cached=42.1):
    cost = dict(
        minutes=2, processor_minutes=1.5, memory_mb=800, disk_mb=0, found={}
    )
    stock = dict(mIoU=41.5, aAcc=90.0, mAcc=50.0)
    found = {
        'test B with MMSeg': stock,
        'test B, live': {
            f'black_box/{k}': v for k, v in (stock | {'mIoU': live}).items()
        },
        'test B, cached': {
            f'black_box/{k}': v for k, v in (stock | {'mIoU': cached}).items()
        },
        'test': {'GED_16': 0.25},
    }
    return dict(steps={name: cost | {'found': f} for name, f in found.items()})


def test_promises_about_the_black_box():
    assert broken_promises(record_of()) == []
    # MMSeg's are float32: the digits that both report are the same.
    assert broken_promises(record_of(live=41.50000011)) == []
    (said,) = broken_promises(record_of(live=41.51))
    assert said == 'mIoU of B is 41.51 live, but MMSeg reports 41.5'
    for cached in (42.6, 40.4):
        (said,) = broken_promises(record_of(cached=cached))
        assert 'points off cached' in said
    assert 'B, mIoU: 41.5 MMSeg, 41.5 live, 42.1 cached' in score_lines(
        record_of()
    )
    assert '800' in cost_table(record_of()).splitlines()[2]


def test_the_readme_has_the_table_of_the_record():
    project = ROOT / 'projects' / 'synthetic_cityscapes'
    record = json.loads((project / 'record.json').read_text())
    page = (project / 'README.md').read_text()
    assert '<!-- table: costs -->' in page
    assert fill_page(page, record) == page


def test_a_folder_keeps_its_iterations(tmp_path):
    record = dict(iterations=dict(black_box=9, calibration=9, generator=9))
    (tmp_path / 'record.json').write_text(json.dumps(record | {'steps': {}}))
    tool = ROOT / 'projects/synthetic_cityscapes/run.py'
    wrong = run(tool, '--folder', tmp_path, '--iterations', 4, 4, 4)
    assert wrong.returncode == 2 and 'was begun with' in wrong.stderr
    few = run(tool, '--folder', tmp_path / 'x', '--iterations', 4, 1, 4)
    assert few.returncode == 2 and 'at least 2' in few.stderr


def test_every_step_is_in_the_projects_record():
    path = ROOT / 'projects/synthetic_cityscapes/record.json'
    record = json.loads(path.read_text())
    steps = all_steps(Iterations())
    assert [*record['steps']] == [step.name for step in steps]
