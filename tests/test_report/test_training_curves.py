import json

import numpy as np
import pytest

from mmcar.report import draw_curves, find_logs, read_curves
from mmcar.report.training_curves import changing


def write_log(folder, entries, tail=''):
    path = folder / 'vis_data' / 'scalars.json'
    path.parent.mkdir(parents=True)
    lines = [json.dumps(entry) for entry in entries]
    path.write_text('\n'.join(lines) + '\n' + tail)


def test_resumed_run_replaces_what_it_repeats(tmp_path):
    write_log(
        tmp_path / '20250101_000000',
        [
            dict(loss=1.0, time=3, iter=10, step=10),
            dict(loss=2.0, step=20),
            dict(loss=9.0, step=30),
        ],
        tail='{"loss": 4.0, "st',
    )
    write_log(
        tmp_path / '20250102_000000',
        [
            dict(loss=3.0, step=30, lr=0.1),
            dict(GED=0.5, note='best', step=40, lr=0.1),
            dict(GED=0.4, step=50),
        ],
    )
    curves = read_curves(*find_logs(tmp_path))
    assert set(curves) == {'loss', 'GED', 'lr'}
    steps, values = curves['loss']
    assert steps.tolist() == [10, 20, 30]
    assert values.tolist() == [1.0, 2.0, 3.0]
    figure = draw_curves(curves)
    assert [a.get_title() for a in figure.axes] == ['GED', 'loss', '']


def test_no_curves(tmp_path):
    assert find_logs(tmp_path) == []
    with pytest.raises(ValueError, match='No curves'):
        draw_curves(read_curves())


def test_only_changing_curves_are_kept():
    steps = np.array([1, 2])
    kept = changing(dict(a=(steps, [3, 3]), b=(steps, [3, 4])))
    assert list(kept) == ['b']
