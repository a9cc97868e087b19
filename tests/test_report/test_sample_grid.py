import numpy as np
import pytest

from mmcar.report import sample_grid as grid


def row(size=(6, 8), samples=3, labels=2, classes=2):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(classes), size).transpose(2, 0, 1)
    return grid.SampleRow(
        image=rng.integers(0, 256, (*size, 3), np.uint8),
        samples=rng.integers(0, classes, (samples, *size)),
        probs=probs,
        labels=rng.integers(0, classes, (labels, *size)) if labels else None,
    )


def shown(figure):
    """Titles of the columns and the number of pictures in each row."""
    axes = figure.axes
    heads = [a.get_title() for a in axes if a.get_title()]
    pictures = [len(a.get_images()) for a in axes]
    return heads, np.reshape(pictures, (-1, len(heads))).sum(1).tolist()


def test_columns_follow_what_is_there():
    heads, pictures = shown(grid.draw_sample_grid([row(), row(labels=0)]))
    assert heads == [
        *('image', 'reader 1', 'reader 2', 'mean', 'entropy'),
        *('sample 1', 'sample 2', 'sample 3'),
    ]
    assert pictures == [8, 6]


def test_limits_and_saving(tmp_path):
    figure = grid.draw_sample_grid(
        [row(samples=20, labels=9, classes=24)], num_samples=5
    )
    assert shown(figure)[1] == [1 + 4 + 2 + 5]
    figure.savefig(tmp_path / 'a.png')
    assert (tmp_path / 'a.png').stat().st_size > 1000


def test_without_labels():
    assert 'reader 1' not in shown(grid.draw_sample_grid([row(labels=0)]))[0]


def test_empty():
    with pytest.raises(ValueError, match='rows is empty'):
        grid.draw_sample_grid([])


def test_colours():
    palette = np.array([[0, 0, 0], [10, 20, 30], [200, 0, 0]], np.uint8)
    coloured = grid.colour_labels(np.array([[0, 1], [2, 255]]), palette)
    assert coloured.tolist() == [
        [[0, 0, 0], [10, 20, 30]],
        [[200, 0, 0], [208, 208, 208]],
    ]
    half = np.array([[[0.5]], [[0.5]], [[0]]])
    assert grid.colour_mean(half, palette).tolist() == [[[5, 10, 15]]]


@pytest.mark.parametrize('classes', [2, 5])
def test_entropy(classes):
    uniform = np.full((classes, 1, 1), 1 / classes)
    certain = np.zeros((classes, 1, 1))
    certain[1] = 1
    assert grid.normalised_entropy(uniform) == pytest.approx(1)
    assert grid.normalised_entropy(certain) == 0


@pytest.mark.parametrize('number', [3, 20, 60, 150, 300])
def test_default_colours_are_distinct(number):
    palette = grid.default_palette(number)
    assert palette.shape == (number, 3) and palette.dtype == np.uint8
    assert len({*map(tuple, palette.tolist())}) == number


def test_a_palette_counts_if_it_has_every_class():
    meta = dict(palette=[[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    assert grid.dataset_palette(meta, 3).tolist() == meta['palette']
    for other in (None, {}, dict(palette=None), meta):
        found = grid.dataset_palette(other, 4)
        assert (found == grid.default_palette(4)).all()
