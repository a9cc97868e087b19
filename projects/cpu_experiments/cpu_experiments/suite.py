"""Which models are trained and tested, and the tables that show them."""

from dataclasses import dataclass

# Samplers that know the labels, as tools/analysis_tools/bounds.py names them.
BOUNDS = (
    'perfect sampler',
    'random threshold of the mean',
    'argmax of the mean',
    'independent pixels',
)


@dataclass(frozen=True)
class Row:
    """A row of a table: a model, how it is trained and how it is tested.

    Attributes:
        group: Folder of the config.
        name: Config in that folder.
        weights: Config whose checkpoint is tested; None: there is none.
        label: What the row is called.
        seeds: Number of seeds.
        noise: The noise of its samples, 'normal' or 'sobol'.
    """

    group: str
    name: str
    weights: str | None
    label: str
    seeds: int = 3
    noise: str = 'normal'

    @property
    def key(self) -> str:
        """Name of the row in a summary."""
        return f'{self.group}/{self.name}/{self.noise}'

    @property
    def title(self) -> str:
        """First cell of the row."""
        if self.noise == 'sobol':
            return f'{self.label}, Sobol noise'
        return f'{self.label} (`{self.name}`)'


@dataclass(frozen=True)
class Table:
    """A table of the results page.

    Attributes:
        group: Folder of the configs.
        scores: Names of the scores that it shows.
        rows: Its rows.
        bounds: Samplers that know the labels, shown above the rows.
    """

    group: str
    scores: tuple[str, ...]
    rows: tuple[Row, ...]
    bounds: tuple[str, ...] = ()

    @property
    def lines(self) -> list[tuple[str, str]]:
        """First cell and name in a summary of every line."""
        bounds = [
            (f'*bound: {name}*', f'{self.group}/bounds/{name}')
            for name in self.bounds
        ]
        return bounds + [(row.title, row.key) for row in self.rows]


def both_noises(*args: object) -> tuple[Row, Row]:
    """A row with independent noise and one with low-discrepancy noise."""
    row = Row(*args)
    return row, Row(*args[:4], row.seeds, 'sobol')


GED = ('GED_16', 'GED_50', 'GED_100')
OUTLINES = (*GED, 'HM-IoU_16', 'diversity_16')
FLIPS = (*GED, 'flip_error', 'flip_correlation', 'flip_coherence')
OFFSETS = ('offset/mean', 'offset_samples/mean')
LIDC, CAMVID, BUBIL = 'lidc-shapes', 'camvid', 'bubil'
PAPER, RECIPE, ELBO = "paper's recipe", 'mmcar recipe', 'cVAE-GAN, beta 1'
AUTHORS = "authors' switches"
ON_F, PIXELS = 'training-free on F', 'independent pixels of F'


def trained_long(group: str, name: str, label: str) -> Row:
    """A training of long_training.py, at its end."""
    return Row(group, name, name, f'{label}, trained long', 1)


TABLES = {
    'lidc-shapes control': Table(
        LIDC,
        OUTLINES,
        (
            *both_noises(LIDC, 'control_gumbel', None, 'training-free'),
            *both_noises(LIDC, 'control_recipe', 'control_recipe', RECIPE),
            *both_noises(LIDC, 'control', 'control', f'{PAPER}, M = 20'),
            trained_long(LIDC, 'long', f'{PAPER}, M = 20'),
            trained_long(LIDC, 'long_authors', AUTHORS),
            Row(LIDC, 'control_m5', 'control_m5', f'{PAPER}, M = 5', 1),
            Row(LIDC, 'control_m1', 'control_m1', f'{PAPER}, M = 1'),
            Row(LIDC, 'control_cgan-ce', 'control_cgan-ce', 'cGAN + L_ce'),
        ),
        BOUNDS,
    ),
    'lidc-shapes ct': Table(
        LIDC,
        (*OUTLINES, 'ECE'),
        (
            *both_noises(LIDC, 'ct_gumbel', 'ct_recipe', ON_F, 1),
            *both_noises(
                LIDC, 'ct_recipe', 'ct_recipe', f'{RECIPE}, F included', 1
            ),
            *both_noises(LIDC, 'ct_tuned', 'ct_tuned', 'copy of F, tuned', 1),
            Row(LIDC, 'ct', 'ct', PAPER, 1),
            Row(
                LIDC,
                'ct_cvae-gan-cal',
                'ct_cvae-gan-cal',
                'cVAE-GAN + L_cal',
                1,
            ),
            Row(
                LIDC,
                'ct_cvae-gan-cal_no-gradient',
                'ct_cvae-gan-cal_no-gradient',
                'cVAE-GAN + L_cal, code without a gradient',
                1,
            ),
            Row(LIDC, 'ct_cvae-gan', 'ct_cvae-gan', ELBO, 1),
        ),
        BOUNDS,
    ),
    'camvid control': Table(
        CAMVID,
        FLIPS,
        (
            *both_noises(CAMVID, 'control_gumbel', None, 'training-free'),
            *both_noises(CAMVID, 'control_recipe', 'control_recipe', RECIPE),
            Row(CAMVID, 'control', 'control', PAPER, 1),
            trained_long(CAMVID, 'long', PAPER),
            trained_long(CAMVID, 'long_authors', AUTHORS),
        ),
        BOUNDS,
    ),
    'camvid': Table(
        CAMVID,
        (*FLIPS, 'ECE', *OFFSETS),
        (
            Row(
                CAMVID,
                'perfect-flips',
                None,
                "*bound: perfect flips of B's decision*",
            ),
            Row(CAMVID, 'argmax', 'calibration', 'argmax of F'),
            Row(CAMVID, 'independent', 'calibration', PIXELS),
            *both_noises(CAMVID, 'gumbel', 'calibration', ON_F),
            *both_noises(CAMVID, 'recipe', 'recipe', RECIPE),
            Row(CAMVID, 'faithful', 'faithful', PAPER, 1),
            Row(CAMVID, 'cgan-ce', 'cgan-ce', 'cGAN + L_ce'),
        ),
    ),
    'bubil': Table(
        BUBIL,
        (*OUTLINES, 'ECE'),
        (
            Row(BUBIL, 'argmax', 'calibration', 'argmax of F'),
            Row(BUBIL, 'independent', 'calibration', PIXELS),
            *both_noises(BUBIL, 'gumbel', 'calibration', ON_F),
            *both_noises(
                BUBIL,
                'start',
                'calibration',
                'training-free start of the recipe',
            ),
            *both_noises(BUBIL, 'recipe', 'recipe', RECIPE),
            *both_noises(
                BUBIL, 'recipe_softer', 'recipe', 'at temperature 0.8'
            ),
            Row(BUBIL, 'faithful', 'faithful', PAPER, 1),
        ),
        BOUNDS,
    ),
}
SUITE = tuple(row for table in TABLES.values() for row in table.rows)
# Trainings that take over F from another one, whose config is named.
F_FROM = {
    'lidc-shapes/ct': 'ct_recipe',
    'lidc-shapes/ct_tuned': 'ct_recipe',
    'lidc-shapes/ct_cvae-gan-cal': 'ct_recipe',
    'lidc-shapes/ct_cvae-gan-cal_no-gradient': 'ct_recipe',
    'camvid/recipe': 'calibration',
    'camvid/faithful': 'calibration',
    'camvid/cgan-ce': 'calibration',
    'bubil/recipe': 'calibration',
    'bubil/faithful': 'calibration',
}
