"""Which rows the table has, and how each is trained and tested."""

import json
from pathlib import Path

from mmengine.runner import save_checkpoint

from mmcar.utils.errors import UserError
from projects.cpu_experiments.cpu_experiments.running import (
    ENDED,
    Experiments,
)
from projects.cpu_experiments.cpu_experiments.suite import Row

# By the name that the config imports: a class is registered once.
from projects.lidc.lidc.averaged import join

CONFIGS = Path('projects/lidc/configs')
F = 'gumbel_unet16_1xb16-6k_lidc-slices-center64'
CHOOSE = 'f_unet16_1xb16-6k_center64_choose'
TUNED = 'tuned_unet16_1xb16-1k_lidc-slices-center64'
ENSEMBLE = 'ensemble_unet16x3_lidc-slices-center64'
MEMBERS = 3  # its seeds of F
ROWS = {
    'choose': Row('', CHOOSE, CHOOSE, 'settings are chosen by this one', 1),
    'free': Row('', F, F, 'training-free samples of F'),
    'ensemble': Row('', ENSEMBLE, ENSEMBLE, 'mean of three F', 1),
    'tuned': Row('', TUNED, TUNED, 'F tuned by whole samples'),
}
F_OF = {TUNED: F}
TAKEN_OVER = ('calibration', 'generator.net')
TABLES = ('ged.csv', 'hm_iou.csv')
# What a test says of all slices together.
WHOLE = ('ECE', 'ECE_samples', 'NLL', 'flood_rate_16')


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

    def train(self, group: str, name: str, seed: int) -> Path:
        """Train unless done; the last checkpoint."""
        if name != ENSEMBLE:
            return super().train(group, name, seed)
        members = [self.train(group, F, i) for i in range(MEMBERS)]
        path = self.folder(group, name, seed) / 'joined.pth'
        save_checkpoint(dict(state_dict=join(members)), str(path))
        return path

    def training_version(self, group: str, name: str, seed: int) -> str:
        """Hash of all that decides about the weights of a training."""
        if name != ENSEMBLE:
            return super().training_version(group, name, seed)
        found = [self.training_version(group, F, i) for i in range(MEMBERS)]
        return ' '.join(found)

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

    def whole_scores(self, row: Row, seed: int) -> dict[str, float]:
        """Scores of all slices together, and processor minutes of training."""
        scores = json.loads(self.scores_file(row, seed).read_text())['scores']
        trained = [(n, seed) for n in (row.name, *self.sources('', row.name))]
        if row.name == ENSEMBLE:
            trained = [(F, member) for member in range(MEMBERS)]
        ended = (self.folder('', *training) / ENDED for training in trained)
        minutes = (json.loads(path.read_text())['minutes'] for path in ended)
        found = {name: scores[name] for name in WHOLE}
        return found | {'processor minutes': sum(minutes)}
