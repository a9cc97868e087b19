"""Numbers of the regression experiment: a CSV file and a summary."""

import csv
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import torch

from .data import BimodalData, Run
from .training import Trained


@dataclass(frozen=True)
class Summary:
    """Final log-likelihood of one configuration over its repeats.

    ``with_cal`` and ``without_cal`` are medians, the others interquartile
    ranges.
    """

    pi: float
    sigma: float
    with_cal: float
    without_cal: float
    with_cal_iqr: float
    without_cal_iqr: float


def median_and_iqr(values: torch.Tensor) -> tuple[float, float]:
    """Median and distance of the quartiles of (N,) values."""
    low, middle, high = values.quantile(torch.tensor([0.25, 0.5, 0.75]))
    return middle.item(), (high - low).item()


def final_likelihood(trained: Trained, floored: bool) -> torch.Tensor:
    """Log-likelihood at the end, with the notebook's floor or not, (R,)."""
    curves = trained.floored if floored else trained.log_likelihood
    return curves[-1]


def summarize(trained: Trained, floored: bool = False) -> list[Summary]:
    """One summary per configuration."""
    final = final_likelihood(trained, floored)
    rows = []
    for pi, sigma in sorted({(run.pi, run.sigma) for run in trained.runs}):
        results = []
        for kind in (True, False):
            select = [
                (r.pi, r.sigma, r.calibrated) == (pi, sigma, kind)
                for r in trained.runs
            ]
            results.append(median_and_iqr(final[torch.tensor(select)]))
        (middle, spread), (other_middle, other_spread) = results
        rows.append(
            Summary(pi, sigma, middle, other_middle, spread, other_spread)
        )
    return rows


def runs_of_kind(trained: Trained, calibrated: bool) -> torch.Tensor:
    """Which runs are with, or without, L_cal: (R,) bool."""
    return torch.tensor([r.calibrated == calibrated for r in trained.runs])


def overall(
    trained: Trained, calibrated: bool, floored: bool = False
) -> tuple[float, float]:
    """Median and interquartile range of all runs of one kind."""
    select = runs_of_kind(trained, calibrated)
    return median_and_iqr(final_likelihood(trained, floored)[select])


@torch.no_grad()
def lower_branch_shares(trained: Trained, points: int = 4000) -> torch.Tensor:
    """Share of samples on the lower branch, of every run (R,); pi is right.

    Measured on [0, 0.4), where the branches are far apart. The likelihood of
    samples does not notice a lost branch; this does.
    """
    data = BimodalData(trained.runs, purpose='branches')
    x = 0.4 * data.uniform(points)
    noise = data.normal(points)
    samples = trained.generator(x, trained.calibration(x), noise)
    return (samples < 0).float().mean(1)


def describe_branches(trained: Trained) -> str:
    """What became of the branches with and without L_cal, in words."""
    shares = lower_branch_shares(trained)
    errors = shares - torch.tensor([run.pi for run in trained.runs])
    lost = torch.minimum(shares, 1 - shares) < 0.02
    lines = []
    for kind, name in ((True, 'With L_cal'), (False, 'Without')):
        select = runs_of_kind(trained, kind)
        points = 100 * errors[select].abs()
        lines.append(
            f'{name}, the share of the lower branch is wrong by '
            f'{points.mean():.1f} points on average and {points.max():.0f} at '
            f'worst; {lost[select].sum()} of {select.sum()} runs have lost a '
            'branch (a share below 2 %).'
        )
    return '\n'.join(lines)


def format_table(trained: Trained, floored: bool = False) -> str:
    """The summaries as a Markdown table."""
    lines = [
        '| pi | sigma | with L_cal (IQR) | without (IQR) |',
        '|---|---|---|---|',
    ]
    lines += [
        f'| {row.pi} | {row.sigma} '
        f'| {row.with_cal:.2f} ({row.with_cal_iqr:.2f}) '
        f'| {row.without_cal:.2f} ({row.without_cal_iqr:.2f}) |'
        for row in summarize(trained, floored)
    ]
    cells = [
        '{:.2f} ({:.2f})'.format(*overall(trained, kind, floored))
        for kind in (True, False)
    ]
    return '\n'.join([*lines, f'| all | all | {cells[0]} | {cells[1]} |'])


def write_csv(trained: Trained, path: Path) -> None:
    """Write every point of every curve."""
    with path.open('w', newline='') as file:
        writer = csv.writer(file)
        names = [field.name for field in fields(Run)]
        writer.writerow([*names, 'iteration', 'log_likelihood', 'floored'])
        for index, run in enumerate(trained.runs):
            for iteration, *values in zip(
                trained.iters.tolist(),
                trained.log_likelihood[:, index].tolist(),
                trained.floored[:, index].tolist(),
                strict=True,
            ):
                cells = [f'{value:.4f}' for value in values]
                writer.writerow([*astuple(run), iteration, *cells])
