"""The class-flip experiment with ESPNet as black box, row by row."""

from pathlib import Path

from projects.cpu_experiments.cpu_experiments.running import Experiments
from projects.cpu_experiments.cpu_experiments.suite import (
    FLIPS,
    OFFSETS,
    ON_F,
    RECIPE,
    Row,
    Table,
)

CONFIGS = Path('projects/espnet/configs')
F = 'flips_f'
ROWS = {
    'perfect': Row('', 'flips_perfect', None, "perfect flips of B's decision"),
    'free': Row('', 'flips_free', F, ON_F),
    'recipe': Row('', 'flips_recipe', 'flips_recipe', RECIPE),
}
TABLE = Table('', (*FLIPS, 'ECE', *OFFSETS), tuple(ROWS.values()))


class ESPNetRuns(Experiments):
    """Runs rows, each training and test once."""

    def config(self, group: str, name: str) -> Path:
        """File of a config."""
        return CONFIGS / f'{name}.py'

    def sources(self, group: str, name: str) -> dict[str, list[str]]:
        """The training that F is taken over from, if any."""
        keys = ['model.decode_head.calibration.init_cfg.checkpoint']
        return {F: keys} if name == 'flips_recipe' else {}
