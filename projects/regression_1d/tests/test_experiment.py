"""Tables, figures and the whole experiment in its quick form."""

import csv
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib.image
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from ..regression_1d.data import BimodalData, branches, grid
from ..regression_1d.experiment import run_experiment, time_sequential
from ..regression_1d.figures import (
    curves_figure,
    sample_mean,
    save_figures,
)
from ..regression_1d.report import (
    describe_branches,
    format_table,
    lower_branch_shares,
    overall,
    summarize,
    write_csv,
)
from ..regression_1d.training import Trainer
from .test_training import SHORT


@pytest.fixture(scope='module')
def trained():
    runs = grid(pis=(0.5, 0.9), sigmas=(0.01, 0.03), repeats=3)
    trained = Trainer(runs, replace(SHORT, iters=10)).train()
    torch.manual_seed(0)
    trained.log_likelihood = -50 * torch.rand(2, len(runs))
    trained.floored = -20 * torch.rand(2, len(runs))
    return trained


def test_summary(trained):
    final = trained.log_likelihood[-1].numpy()
    rows = summarize(trained)
    assert [(r.pi, r.sigma) for r in rows] == [
        (0.5, 0.01), (0.5, 0.03), (0.9, 0.01), (0.9, 0.03)
    ]  # fmt: skip
    # Runs of the second configuration: 3-5 with L_cal, 15-17 without.
    for part, middle, spread in (
        (final[3:6], rows[1].with_cal, rows[1].with_cal_iqr),
        (final[15:18], rows[1].without_cal, rows[1].without_cal_iqr),
    ):
        low, high = np.percentile(part, [25, 75])
        assert middle == pytest.approx(np.median(part), rel=1e-5)
        assert spread == pytest.approx(high - low, rel=1e-5)
    assert overall(trained, True)[0] == pytest.approx(np.median(final[:12]))
    assert f'{rows[1].with_cal:.2f}' in format_table(trained)
    floored = trained.floored[-1].numpy()
    row = summarize(trained, floored=True)[1]
    assert row.with_cal == pytest.approx(np.median(floored[3:6]))
    table = format_table(trained, floored=True)
    assert f'{np.median(floored[12:]):.2f}' in table.splitlines()[-1]


def test_lost_branches_are_counted(trained):
    """G's that always take one branch, in place of the trained ones."""

    def generator(x, mean, noise):
        down = torch.arange(len(x))[:, None] % 2 == 0
        return torch.where(down, -0.5, 0.5).expand_as(x)

    fixed = replace(trained, generator=generator)
    shares = lower_branch_shares(fixed)
    assert shares.tolist() == [1, 0] * (len(trained.runs) // 2)
    text = describe_branches(fixed)
    assert '12 of 12 runs have lost a branch' in text
    assert '90 at worst' in text


def test_shares_of_the_data_itself(trained):
    """A generator that draws from the data is right but for chance."""
    data = BimodalData(trained.runs, seed=3)

    def generator(x, mean, noise):
        upper, lower = branches(x)
        return torch.where(torch.rand(x.shape) < data.pi, lower, upper)

    shares = lower_branch_shares(replace(trained, generator=generator))
    pi = torch.tensor([run.pi for run in trained.runs])
    assert (shares - pi).abs().max() < 0.04


def test_csv(trained, tmp_path):
    write_csv(trained, tmp_path / 'a.csv')
    with (tmp_path / 'a.csv').open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == trained.log_likelihood.numel()
    last = rows[-1]
    assert last['calibrated'] == 'False' and last['repeat'] == '2'
    expected = trained.log_likelihood[-1, -1].item()
    assert float(last['log_likelihood']) == pytest.approx(expected, abs=1e-4)
    expected = trained.floored[-1, -1].item()
    assert float(last['floored']) == pytest.approx(expected, abs=1e-4)


def test_mean_of_samples(trained):
    """Of a G whose mean is known, at every x and of every run."""
    shift = torch.arange(len(trained.runs))[:, None] / 10
    fixed = replace(trained, generator=lambda x, f, z: x + shift + 0.1 * z)
    x = torch.linspace(0, 1, 5)
    mean = sample_mean(fixed, x, number=400)
    assert torch.allclose(mean, x + shift, atol=0.03)


def test_every_run_has_a_curve(trained):
    figure = curves_figure(trained)
    # 3 repeats and a median, of two kinds each.
    assert [len(ax.lines) for ax in figure.axes] == [8] * 4
    plt.close(figure)


def test_figures(trained, tmp_path):
    paths = save_figures(trained, tmp_path)
    assert len(paths) == 3
    for path in paths:
        image = matplotlib.image.imread(path)
        assert image.shape[0] > 200 and image[..., :3].std() > 0.05
        assert path.stat().st_size < 150_000


def test_sequential_time(trained):
    seconds = time_sequential(trained.runs, SHORT, number=2)
    assert seconds.cpu > 0 and seconds.wall > 0


@pytest.mark.slow
def test_quick_shows_the_effect(tmp_path):
    trained = run_experiment(tmp_path, quick=True)
    middle, spread = overall(trained, True)
    other_middle, other_spread = overall(trained, False)
    assert middle > other_middle
    assert spread < other_spread
    names = {path.name for path in tmp_path.iterdir()}
    assert {'regression.csv', 'regression.md'} < names


def test_command_line(tmp_path):
    """The tool finds its own code and mmcar, from whatever folder."""
    tool = Path(__file__).parents[1] / 'run.py'
    command = [sys.executable, str(tool), '--help']
    result = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert '--compare-sequential' in result.stdout
