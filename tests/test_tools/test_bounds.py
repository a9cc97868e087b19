import json

import pytest
from mmengine.config import Config

from .project import loader, write_data
from .scripts import load_script


def test_table_and_file(tmp_path, capsys):
    write_data(tmp_path)
    config, out = tmp_path / 'config.py', tmp_path / 'scores.json'
    metric = dict(type='GEDMetric', classes=(0,))  # other than by default
    Config(
        dict(test_dataloader=loader(tmp_path, 'val'), test_evaluator=metric)
    ).dump(config)
    tool = load_script('analysis_tools/bounds.py')
    options = ['--num-samples', '2', '4', '--max-images', '3']
    tool.main([str(config), *options, '--json', str(out)])
    report = json.loads(out.read_text())
    assert report['images'] == 3
    argmax = report['scores']['argmax of the mean']
    # of two readers, the lower id wins: the map is the first reader's
    iou = (256 - 36) / (256 - 24)
    for n in (2, 4):
        assert argmax[f'HM-IoU_{n}'] == pytest.approx((1 + iou) / 2)
        assert argmax[f'GED_{n}'] == pytest.approx((1 - iou) / 2)
    lines = capsys.readouterr().out.splitlines()
    row = next(x for x in lines if x.startswith('argmax of the mean'))
    assert f'{(1 - iou) / 2:.4f}' in row
