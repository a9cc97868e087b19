"""Which rows the table has, and how each is trained and tested."""

from pathlib import Path

from mmcar.utils.errors import UserError
from projects.cpu_experiments.cpu_experiments.running import Experiments
from projects.cpu_experiments.cpu_experiments.suite import Row

CONFIGS = Path('projects/lidc/configs')
F = 'gumbel_unet16_1xb16-6k_lidc-slices-center64'
CHOOSE = 'f_unet16_1xb16-6k_center64_choose'
TUNED = 'tuned_unet16_1xb16-1k_lidc-slices-center64'
ROWS = {
    'choose': Row('', CHOOSE, CHOOSE, 'settings are chosen by this one', 1),
    'free': Row('', F, F, 'training-free samples of F'),
    'tuned': Row('', TUNED, TUNED, 'F tuned by whole samples'),
}
F_OF = {TUNED: F}
TAKEN_OVER = ('calibration', 'generator.net')
TABLES = ('ged.csv', 'hm_iou.csv')


def find_row(name: str) -> Row:
    """A row by its name, or an error that lists all names."""
    if name not in ROWS:
        raise UserError(f'{name!r}: expected a row, {", ".join(ROWS)}.')
    return ROWS[name]


class LIDCRuns(Experiments):
    """Runs rows on real CT, each training and test once."""

    def config(self, group: str, name: str) -> Path:
        """File of a config."""
        return CONFIGS / f'{name}.py'

    def sources(self, group: str, name: str) -> dict[str, list[str]]:
        """The training that F is taken over from, if any."""
        if name not in F_OF:
            return {}
        keys = [
            f'model.decode_head.{part}.init_cfg.checkpoint'
            for part in TAKEN_OVER
        ]
        return {F_OF[name]: keys}

    def training_settings(self, name: str, seed: int) -> list[str]:
        """Config options of a training."""
        return [f'randomness.seed={seed}', *self.train_options]

    def test_settings(self, row: Row, seed: int) -> list[str]:
        """Config options of a test: scores of every slice are kept, too."""
        folder = self.scores_file(row, seed).parent
        tables = [
            f'test_evaluator.{i}.csv_file={folder / name}'
            for i, name in enumerate(TABLES)
        ]
        return [*super().test_settings(row, seed), *tables]

    def tables(self, row: Row, seed: int) -> list[Path]:
        """Where the scores of every slice are."""
        folder = self.scores_file(row, seed).parent
        return [folder / name for name in TABLES]
