"""The figures show what they say."""

import numpy as np
import pytest

from mmcar.datasets import CamVidFlipsDataset, Cityscapes24Dataset
from tests.test_datasets.samples import write
from tests.test_tools.project import ROOT, run, write_data

from ..paper.panels import (
    add_legend,
    draw_grid,
    draw_offsets,
    entropy,
    entropy_panels,
    independent_panels,
    sample_panels,
)
from ..paper.views import View

TOOL = ROOT / 'projects' / 'paper' / 'figures.py'
PALETTE = np.array([[0, 0, 0], [255, 0, 0], [0, 0, 200]], np.uint8)


@pytest.fixture
def view():
    """Two samples: all of class 0, and of class 1 on the right half."""
    samples = np.zeros((2, 3, 4, 6), np.float32)
    samples[0, 0] = 1
    samples[1, 0, :, :3] = samples[1, 1, :, 3:] = 1
    calibrated = np.full((3, 4, 6), [[[0.5]], [[0.3]], [[0.2]]], np.float32)
    truth = np.zeros((3, 4, 6), np.float32)
    truth[2] = 1
    known = np.ones((4, 6), bool)
    known[0, 0] = False
    image = np.full((4, 6, 3), 77, np.uint8)
    return View(image, calibrated, samples, truth, known)


def test_mean_and_label_maps(view):
    assert view.mean[0, 0, 0] == 1 and view.mean[1, 0, 5] == 0.5
    assert view.label_maps.tolist()[1] == [[0, 0, 0, 1, 1, 1]] * 4


def test_independent_pixels_follow_f():
    probs = np.array([0.5, 0.3, 0.2])[:, None, None]
    calibrated = np.broadcast_to(probs, (3, 50, 60))
    image = np.zeros((50, 60, 3), np.uint8)
    view = View(image, calibrated, calibrated[None], None, image[..., 0] == 0)
    maps = view.independent(40)
    shares = [(maps == k).mean() for k in range(3)]
    np.testing.assert_allclose(shares, [0.5, 0.3, 0.2], atol=0.01)
    both = (maps[:, :, 1:] == 0) & (maps[:, :, :-1] == 0)
    assert both.mean() == pytest.approx(0.25, abs=0.01)  # neighbours too
    assert (view.independent(2) == view.independent(2)).all()


def test_panels_of_samples(view):
    panels = dict(sample_panels(view, PALETTE, 2, 'truth'))
    assert list(panels) == [
        *('image', 'F', 'mean of samples', 'truth', 'sample 1', 'sample 2'),
    ]
    assert panels['F'][1, 1].tolist() == [76, 0, 40]  # .3 red and .2 blue
    assert panels['mean of samples'][0, 5].tolist() == [128, 0, 0]
    assert panels['truth'][1, 1].tolist() == [0, 0, 200]
    assert panels['truth'][0, 0].tolist() == [208] * 3  # nobody labelled it
    assert panels['sample 2'][2, 4].tolist() == [255, 0, 0]


def test_panels_of_entropy(view):
    panels = dict(entropy_panels(view, 2))
    expected = -(0.5 * np.log(0.5) + 0.3 * np.log(0.3) + 0.2 * np.log(0.2))
    assert panels['F'][1, 1] == pytest.approx(expected, rel=1e-5)
    assert panels['mean of samples'][1, 5] == pytest.approx(np.log(2))
    assert (panels['sample 2 alone'][1:] == 0).all()
    assert np.isnan(panels['F'][0, 0])
    assert entropy(np.full((4, 1, 1), 0.25))[0, 0] == pytest.approx(np.log(4))


def test_grids_have_all_panels(view):
    rows = [independent_panels(view, PALETTE, 2)] * 3
    figure = draw_grid(rows)
    assert len(figure.axes) == 3 * 6
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[:3] == ['image', 'F', 'pixels alone 1']
    assert set(titles[6:]) == {''}
    assert len(draw_grid([entropy_panels(view, 1)]).axes) == 4 + 1  # a scale
    names = ('road', 'car', 'sky')
    height = figure.get_size_inches()[1]
    legend = add_legend(figure, [view], PALETTE, names).legends[0]
    assert [t.get_text() for t in legend.get_texts()] == list(names)
    assert figure.get_size_inches()[1] > height


def test_bars_of_offsets_have_signs():
    said = dict(F=[0.5, 0.3], samples=[0.4, float('nan')])
    figure = draw_offsets(['car2', 'road2'], [0.45, 0.32], said)
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    np.testing.assert_allclose(heights, [5, -2, -5, 0], atol=1e-9)
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert texts == {'+5.0', '-2.0', '-5.0', '-'}
    legend = figure.axes[0].get_legend().get_texts()
    assert legend[0].get_text() == 'F, mean size 3.5'


@pytest.mark.parametrize(
    ('dataset', 'number'),
    [(Cityscapes24Dataset, 24), (CamVidFlipsDataset, 16)],
)
def test_colours_of_classes_and_twins_are_told_apart(dataset, number):
    """Twins lie further from all others than the data set's own closest."""
    palette = np.array(dataset.METAINFO['palette'], float)
    assert len(palette) == number
    gaps = np.linalg.norm(palette[:, None] - palette[None], axis=-1)
    np.fill_diagonal(gaps, np.inf)
    assert gaps.min() > 0
    twins = [twin for _, twin, _ in dataset.METAINFO['class_flips']]
    assert gaps[twins].min() > 90


def draw(folder, figure, config, *options):
    """Draw a figure of three images in a folder; what the tool did."""
    data = 'test_dataloader.dataset'
    options = (
        f'{data}.data_root={folder / "data"}',
        f'{data}.indices=3',
        'test_dataloader.num_workers=0',
        'test_dataloader.persistent_workers=False',
        *(f'{data}.data_prefix.{option}' for option in options),
    )
    config = ROOT / 'projects/cpu_experiments/configs' / config
    arguments = (config, '--work-dir', folder / 'w', '--cfg-options')
    return run(TOOL, figure, *arguments, *options)


@pytest.mark.parametrize(
    'figure', ['samples', 'entropy', 'independent', 'reliability']
)
def test_the_command_draws(tmp_path, figure):
    write_data(tmp_path / 'data', size=64)
    config = 'lidc-shapes/control_gumbel.py'
    prefix = ('img_path=images/val', 'seg_map_path=annotations/val')
    done = draw(tmp_path, figure, config, *prefix)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / f'w/paper/{figure}.png').stat().st_size > 5000


def test_the_command_draws_offsets(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(3):
        image = rng.integers(0, 256, (48, 64, 3), np.uint8)
        label = rng.integers(0, 12, (3, 4)).astype(np.uint8)
        write(tmp_path / f'data/val/{i}.png', image)
        write(
            tmp_path / f'data/valannot/{i}.png',
            label.repeat(16, 0).repeat(16, 1),
        )
    done = draw(tmp_path, 'offsets', 'camvid/control_gumbel.py')
    assert done.returncode == 0, done.stderr
    assert (tmp_path / 'w/paper/offsets.png').stat().st_size > 5000
    write_data(tmp_path / 'data', size=64)
    prefix = ('img_path=images/val', 'seg_map_path=annotations/val')
    wrong = draw(tmp_path, 'offsets', 'lidc-shapes/control_gumbel.py', *prefix)
    assert wrong.returncode == 2 and 'no class of its data set flips' in (
        wrong.stderr
    )
