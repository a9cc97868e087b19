"""Training and testing what belongs into a row of the paper's tables."""

from collections.abc import Sequence
from pathlib import Path

from mmcar.utils.errors import UserError
from projects.cpu_experiments.cpu_experiments import suite
from projects.cpu_experiments.cpu_experiments.running import Experiments

from .published import TABLES

CONFIGS = Path('configs/car')


def find_row(name: str) -> tuple[str, suite.Row]:
    """A row of the paper's tables as one that can be run.

    Args:
        name: Its config in configs/car, without suffix.

    Returns:
        The title of its table, and the row.
    """
    found = {
        row.config: (title, suite.Row('', name, name, row.label))
        for title, (_, rows) in TABLES.items()
        for row in rows
    }
    if name not in found:
        raise UserError(
            f'{name!r} is no row of the paper: expected one of '
            f'{", ".join(found)}.'
        )
    return found[name]


def sample_counts(scores: Sequence[str]) -> tuple[int, ...]:
    """How many samples the GED of a table is of, e.g. (16, 50, 100)."""
    names = (score.partition('_') for score in scores)
    return tuple(int(count) for name, _, count in names if name == 'GED')


class PaperRuns(Experiments):
    """Runs rows of the paper at full size, each training and test once."""

    def config(self, group: str, name: str) -> Path:
        """File of a config."""
        return CONFIGS / f'{name}.py'

    def sources(self, group: str, name: str) -> dict[str, list[str]]:
        """No other trainings: a config trains F, too, and downloads B."""
        return {}

    def training_settings(self, name: str, seed: int) -> list[str]:
        """Config options of a training."""
        return [f'randomness.seed={seed}', *self.train_options]

    def test_settings(self, row: suite.Row, seed: int) -> list[str]:
        """Config options of a test: as many samples as the table shows."""
        title, _ = find_row(row.name)
        counts = sample_counts(TABLES[title][0])
        return [
            f'model.test_cfg.num_samples={max(counts)}',
            f'model.test_cfg.seed={seed}',
            f'test_evaluator.0.num_samples=({",".join(map(str, counts))},)',
            *self.test_options,
        ]
