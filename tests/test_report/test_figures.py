import json

import numpy as np
import pytest

from mmcar.report import draw_curves, draw_reliability, find_logs, read_curves


def test_shows_filled_bins_and_ece():
    figure = draw_reliability([0.0, 0.6, 0.9], [0.0, 0.5, 1.0], [0, 30, 10])
    upper = figure.axes[0]
    model = upper.get_lines()[1]
    assert model.get_xdata().tolist() == [0.6, 0.9]
    assert model.get_ydata().tolist() == [0.5, 1.0]
    # 3/4 * 0.1 + 1/4 * 0.1
    assert upper.get_title() == 'Reliability: ECE 10.00 %'
    with pytest.raises(ValueError, match='empty'):
        draw_reliability([0.5], [0.5], [0])


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
    steps = np.array([1, 2])
    figure = draw_curves(curves | dict(flat=(steps, steps * 0)))
    assert [a.get_title() for a in figure.axes] == ['GED', 'loss', '']
