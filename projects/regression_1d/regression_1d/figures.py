"""The three figures of the regression experiment."""

from dataclasses import replace
from pathlib import Path

import matplotlib

matplotlib.use('Agg')

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.contour import QuadContourSet
from torch import Tensor

from .data import BimodalData, Run, branches
from .training import Trained

COLORS = {True: '#1f6f8b', False: '#d1603d'}
NAMES = {True: 'with $L_{cal}$', False: 'without $L_{cal}$'}
STYLE = {
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.titlesize': 'medium',
    'font.size': 9,
    'legend.frameon': False,
}


def save_figures(trained: Trained, folder: Path) -> list[Path]:
    """Draw all figures as PNG files into a folder."""
    makers = dict(
        aggregate=aggregate_figure, fits=fits_figure, curves=curves_figure
    )
    paths = []
    with plt.rc_context(STYLE):
        for name, make in makers.items():
            figure = make(trained)
            paths.append(folder / f'regression_{name}.png')
            figure.savefig(paths[-1], dpi=90)
            plt.close(figure)
    return paths


def _plot_quartiles(
    ax: Axes, trained: Trained, select: Tensor, runs: bool = False
) -> None:
    """Median and quartiles of the selected runs, with and without L_cal.

    Args:
        ax: Where to draw.
        trained: All runs.
        select: (R,) bool.
        runs: Whether to draw every single run as well.
    """
    calibrated = torch.tensor([run.calibrated for run in trained.runs])
    for kind in (False, True):
        values = trained.log_likelihood[:, select & (calibrated == kind)]
        low, middle, high = torch.quantile(
            values, torch.tensor([0.25, 0.5, 0.75]), dim=1
        )
        if runs:
            ax.plot(
                trained.iters, values, color=COLORS[kind], lw=0.4, alpha=0.6
            )
        ax.plot(trained.iters, middle, color=COLORS[kind], label=NAMES[kind])
        ax.fill_between(
            trained.iters, low, high, color=COLORS[kind], alpha=0.2, lw=0
        )
    # From -10 to the best possible value linear, below logarithmic: samples
    # between the modes of a narrow density are thousands below zero.
    ax.set_yscale('symlog', linthresh=10, linscale=1.5)
    ax.set_yticks([-1000, -100, -10, 0], ['-1000', '-100', '-10', '0'])
    ax.set_xlim(0, trained.iters[-1])
    ax.grid(alpha=0.2)


def aggregate_figure(trained: Trained) -> plt.Figure:
    """Log-likelihood over all configurations against iterations."""
    figure, ax = plt.subplots(figsize=(5, 3.2), layout='constrained')
    everything = torch.ones(len(trained.runs), dtype=torch.bool)
    _plot_quartiles(ax, trained, everything)
    ax.set(
        xlabel='iterations of G and D',
        ylabel='log-likelihood of samples',
        title=f'{len(trained.runs)} runs: median and quartiles',
    )
    ax.legend(loc='lower right')
    return figure


def curves_figure(trained: Trained) -> plt.Figure:
    """The same for every configuration, and the curve of every run."""
    pis = sorted({run.pi for run in trained.runs})
    sigmas = sorted({run.sigma for run in trained.runs})
    figure, axes = plt.subplots(
        len(pis),
        len(sigmas),
        figsize=(1 + 2.2 * len(sigmas), 0.6 + 1.7 * len(pis)),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout='constrained',
    )
    for row, pi in zip(axes, pis, strict=True):
        for ax, sigma in zip(row, sigmas, strict=True):
            select = [(r.pi, r.sigma) == (pi, sigma) for r in trained.runs]
            _plot_quartiles(ax, trained, torch.tensor(select), runs=True)
            ax.set_title(rf'$\pi$ = {pi}, $\sigma$ = {sigma}')
    figure.supxlabel('iterations of G and D', fontsize=9)
    figure.supylabel('log-likelihood of samples', fontsize=9)
    axes[-1, -1].legend(loc='lower right', fontsize=7)
    return figure


def fits_figure(trained: Trained) -> plt.Figure:
    """For each pi the worst run without L_cal, below the same run with it."""
    pis = sorted({run.pi for run in trained.runs})
    figure, axes = plt.subplots(
        2,
        len(pis),
        figsize=(0.9 + 2.4 * len(pis), 4.4),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout='constrained',
    )
    for column, pi in zip(axes.T, pis, strict=True):
        worst = _worst_run_without(trained, pi)
        pair = (replace(worst, calibrated=True), worst)
        for ax, run in zip(column, pair, strict=True):
            filled = _plot_fit(ax, trained, trained.runs.index(run))
            ax.set_title(
                rf'{NAMES[run.calibrated]}, $\pi$ = {pi}, '
                rf'$\sigma$ = {run.sigma}',
                fontsize=8,
            )
        column[-1].set_xlabel('x')
    for ax in axes[:, 0]:
        ax.set_ylabel('y')
    axes[0, 0].legend(loc='upper right', fontsize=7, handlelength=1.5)
    figure.colorbar(
        filled, ax=axes, label="D's probability of real", shrink=0.6, pad=0.02
    )
    return figure


def _worst_run_without(trained: Trained, pi: float) -> Run:
    """The run without L_cal of lowest final log-likelihood."""
    candidates = [
        (trained.log_likelihood[-1, i].item(), i)
        for i, run in enumerate(trained.runs)
        if run.pi == pi and not run.calibrated
    ]
    return trained.runs[min(candidates)[1]]


@torch.no_grad()
def _plot_fit(ax: Axes, trained: Trained, index: int) -> QuadContourSet:
    """One run: D's output, true branches, F, samples of G and their mean."""
    count = len(trained.runs)
    x = torch.linspace(0, 1, 101)
    y = torch.linspace(-0.8, 0.8, 101)
    grid_x, grid_y = (
        g.flatten().expand(count, -1)
        for g in torch.meshgrid(x, y, indexing='xy')
    )
    real = trained.discriminator(grid_x, grid_y)[index].sigmoid()
    filled = ax.contourf(
        x,
        y,
        real.view(101, 101),
        levels=torch.linspace(0, 1, 11),
        cmap='PuOr',
        alpha=0.6,
    )
    data = BimodalData(trained.runs, purpose='figures')
    points = data.uniform(600)
    mean = trained.calibration(points)
    samples = trained.generator(points, mean, data.normal(600))
    for i, branch in enumerate(branches(x)):
        ax.plot(x, branch, 'k-', lw=0.8, label=None if i else 'true modes')
    fit = trained.calibration(x.expand(count, -1))[index]
    ax.plot(x, fit, '--', color='#2a9d4a', lw=1.2, label='F')
    ax.plot(
        points[index], samples[index], '.', color='#b3123f', ms=2, label='G'
    )
    ax.plot(
        x,
        sample_mean(trained, x)[index],
        color='#12207a',
        lw=1,
        label='mean of G',
    )
    ax.set(xlim=(0, 1), ylim=(-0.8, 0.8))
    return filled


@torch.no_grad()
def sample_mean(trained: Trained, x: Tensor, number: int = 500) -> Tensor:
    """Mean of G's samples at points (N,) of every run, (R, N)."""
    data = BimodalData(trained.runs, purpose='mean')
    points = x.expand(len(trained.runs), -1)
    target = trained.calibration(points)
    total = torch.zeros_like(points)
    for _ in range(number):
        total += trained.generator(points, target, data.normal(len(x)))
    return total / number
