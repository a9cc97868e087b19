import json

import numpy as np
import pytest

from mmcar.report import (
    draw_curves,
    draw_reliability,
    find_logs,
    pictures,
    read_curves,
)
from mmcar.report import figures as grid
from mmcar.structures.colours import overlay_palette


def row(size=(6, 8), samples=3, labels=2, classes=2):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(classes), size).transpose(2, 0, 1)
    return grid.SampleRow(
        image=rng.integers(0, 256, (*size, 3), np.uint8),
        samples=rng.integers(0, classes, (samples, *size)),
        probs=probs,
        labels=rng.integers(0, classes, (labels, *size)) if labels else None,
    )


def draw(rows, num_samples=8):
    return grid.draw_sample_grid(rows, overlay_palette(24), num_samples)


def shown(figure):
    """Titles of the columns and the number of pictures in each row."""
    axes = figure.axes
    heads = [a.get_title() for a in axes if a.get_title()]
    pictures = [len(a.get_images()) for a in axes]
    return heads, np.reshape(pictures, (-1, len(heads))).sum(1).tolist()


def test_columns_follow_what_is_there():
    heads, pictures = shown(draw([row(), row(labels=0)]))
    assert heads == [
        *('image', 'annotator 1', 'annotator 2', 'mean', 'entropy'),
        *('sample 1', 'sample 2', 'sample 3'),
    ]
    assert pictures == [8, 6]
    many = [row(samples=20, labels=9, classes=24)]
    figure = draw(many, 5)
    assert shown(figure)[1] == [1 + 4 + 2 + 5]
    heads, _ = shown(draw([row(labels=0)]))
    assert 'annotator 1' not in heads
    with pytest.raises(ValueError, match='rows is empty'):
        draw([])


def test_a_palette_counts_if_it_has_every_class():
    meta = dict(palette=[[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    assert pictures.dataset_palette(meta, 3).tolist() == meta['palette']
    for other in (None, {}, dict(palette=None), meta):
        found = pictures.dataset_palette(other, 4)
        assert (found == overlay_palette(4)).all()


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
