"""The paper's recipe with one change at a time: what it needs to work."""

from dataclasses import dataclass
from pathlib import Path

from .long_runs import ACCURACY, DIVERSITY, GED, HM_IOU, SEED, read_curve
from .running import Experiments
from .suite import CAMVID, LIDC
from .tables import markdown
from .versions import recorded

PAPER_RUN = 'long'
# As many as take some minutes.
ITERATIONS = {LIDC: 2000, CAMVID: 4000}
GENERATOR = 'model.decode_head.generator'
NO_D = 'model.loss_adv.loss_weight=0'
D_LR = 'optim_wrapper.discriminator.optimizer.lr=1e-4'
D_ALWAYS = 'train_cfg.phases.0.cycles.discriminator=(1,0)'
NO_NORM = (f'{GENERATOR}.norm_cfg=None', f'{GENERATOR}.dropout=0')
FILM = f'{GENERATOR}.film=residual'
RESIDUAL = f'{GENERATOR}.residual=True'
ALL = (D_ALWAYS, D_LR, *NO_NORM, FILM, RESIDUAL)


@dataclass(frozen=True)
class Change:
    """What a training does otherwise than the paper's recipe.

    Attributes:
        name: Folder of its trainings.
        label: What the table says.
        options: Config options.
    """

    name: str
    label: str
    options: tuple[str, ...]


CHANGES = (
    Change('no_d', 'no D (weight 0)', (NO_D,)),
    Change('d_always', 'D at every iteration', (D_ALWAYS,)),
    Change('d_lr', "D's learning rate 1e-4", (D_LR,)),
    Change('d_fed', 'both: D is fed', (D_ALWAYS, D_LR)),
    Change('r1', 'R1 weight 0.1', ('custom_hooks.0.weight=0.1',)),
    Change('no_norm', 'G without norm and dropout', NO_NORM),
    Change('film', 'FiLM: features * (1 + scale) + shift', (FILM,)),
    Change('residual', "G's logits added to log F", (RESIDUAL,)),
    Change('all', 'D is fed, no norm, FiLM, added to log F', ALL),
    Change('all_no_d', 'the same without D', (*ALL, NO_D)),
)


def experiments_of(
    change: Change, group: str, work_dir: Path, commit: str | None
) -> Experiments:
    """Where a change is trained, and how."""
    iters = f'train_cfg.phases.0.iters={ITERATIONS[group]}'
    return Experiments(
        work_dir / 'changes' / change.name,
        train_options=(iters, *change.options),
        commit=commit,
    )


def key_of(change: Change, group: str) -> str:
    """Name of a change's curve in the record."""
    return f'{group}/{PAPER_RUN}/{change.name}'


def collect_changes(work_dir: Path) -> dict:
    """Curves of all changes that have been trained: key -> record."""
    records = {}
    for group in ITERATIONS:
        for change in CHANGES:
            experiments = experiments_of(change, group, work_dir, None)
            folder = experiments.folder(group, PAPER_RUN, SEED)
            if curve := read_curve(folder):
                records[key_of(change, group)] = dict(
                    curve, config=recorded(folder), options=change.options
                )
    return records


def change_table(records: dict, group: str) -> str:
    """Scores of all changes beside the paper's, after as many iterations."""
    last = ITERATIONS[group]
    runs = {"paper's recipe": f'{group}/{PAPER_RUN}'}
    runs |= {change.label: key_of(change, group) for change in CHANGES}
    scores = {GED: 'GED 16', HM_IOU: 'HM-IoU 16', DIVERSITY: "E d(s, s')"}
    shown = {
        key: name
        for key, name in scores.items()
        if any(key in records.get(run, {}) for run in runs.values())
    }
    head = ['', f'GED 16 at {last // 2}', *shown.values(), "D's accuracy"]
    rows = [head]
    for label, run in runs.items():
        curve = records.get(run, {})
        if last not in curve.get('iterations', ()):
            continue
        middle, end = map(curve['iterations'].index, (last // 2, last))
        cells = [curve[key][end] if key in curve else None for key in shown]
        later = [a for a in curve[ACCURACY][middle : end + 1] if a is not None]
        accuracy = f'{sum(later) / len(later):.2f}'
        cells = [curve[GED][middle], *cells]
        rows.append([label, *map(_score, cells), accuracy])
    return markdown(rows)


def _score(value: float | None) -> str:
    return '' if value is None else f'{value:.3f}'.lstrip('0')
