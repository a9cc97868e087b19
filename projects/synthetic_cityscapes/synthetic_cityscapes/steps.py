"""The steps of the run: the commands of docs/do/cityscapes24.md.

All run in one folder, in which ``data/cityscapes`` and ``work_dirs`` are
where the configs expect them.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmengine.utils import get_installed_path

from mmcar.report import find_logs
from mmcar.utils.errors import UserError

from .configs import ROOT, WORK_DIR, Iterations
from .measuring import Cost, run_measured, size_mb

TOOLS = ROOT / 'tools'
DATA = 'data/cityscapes'
CARD_DIR = 'work_dirs/card'
DRAW = Path(__file__).resolve().parents[1] / 'draw.py'
OFFSETS = ROOT / 'projects/paper/figures.py'
SCORES = ('GED', 'ECE', 'offset', 'flips')


@dataclass
class Step:
    """A step: a command, which may be killed once and go on.

    Attributes:
        name: What it does.
        command: Tool and arguments.
        makes: What it writes, below the folder; its size is recorded.
        read: Finds in the folder what the command found out.
        kill_when: When to kill it for the first time.
    """

    name: str
    command: Sequence[object]
    makes: Sequence[str] = ()
    read: Callable[[Path], dict] | None = None
    kill_when: Callable[[Path], bool] | None = None

    def run(self, folder: Path) -> tuple[Cost, dict]:
        """Run it; what it took, and what it found out."""
        log = folder / 'logs' / f'{self.name.replace(" ", "_")}.log'
        command = [sys.executable, *self.command]
        found, cost = {}, Cost(0, 0, 0)
        if self.kill_when is not None and not self.kill_when(folder):
            when = self.kill_when
            cost += run_measured(command, folder, log, lambda: when(folder))
            found['killed_after'] = saved_iteration(folder)
        cost += run_measured(command, folder, log)
        return cost, found | (self.read(folder) if self.read else {})

    def size(self, folder: Path) -> float:
        """Megabytes of what it wrote."""
        return size_mb(*(folder / name for name in self.makes))


def all_steps(iterations: Iterations) -> list[Step]:
    """The steps in their order."""
    stock = Path(get_installed_path('mmseg')) / '.mim' / 'tools'
    weights = iterations.black_box_weights
    last = f'{CARD_DIR}/iter_{iterations.card}.pth'
    converter = TOOLS / 'dataset_converters/cityscapes24.py'
    analysis = TOOLS / 'analysis_tools'
    train, test = TOOLS / 'train.py', TOOLS / 'test.py'
    b_train = ('fast_scnn.py', '--work-dir', WORK_DIR, '--resume')
    b_test = ('fast_scnn.py', weights, '--work-dir', 'work_dirs/stock')
    b_score = ('--eval', 'black-box-mIoU', '--work-dir')
    t_score = ('--eval', *SCORES, '--work-dir')
    figures = ('--images', 3, '--samples', 4, '--work-dir', CARD_DIR)
    return [
        Step('draw', (DRAW, 'raw'), ('raw',)),
        Step(
            'convert',
            (converter, 'raw', DATA),
            (f'{DATA}/gtFine', f'{DATA}/256x512'),
        ),
        Step('check', (analysis / 'check_dataset.py', 'card.py')),
        Step('train B', (stock / 'train.py', *b_train), (weights,)),
        Step(
            'test B with MMSeg', (stock / 'test.py', *b_test), (), stock_scores
        ),
        Step(
            'predict with B',
            (TOOLS / 'cache_black_box.py', 'card.py'),
            (f'{DATA}/black_box',),
        ),
        Step(
            'test B, live',
            (test, 'card.py', '--live', *b_score, 'work_dirs/live'),
            read=lambda folder: scores(folder / 'work_dirs/live'),
        ),
        Step(
            'test B, cached',
            (test, 'card.py', *b_score, 'work_dirs/cached'),
            read=lambda folder: scores(folder / 'work_dirs/cached'),
        ),
        Step(
            'train F, G and D',
            (train, 'card.py', '--work-dir', CARD_DIR, '--resume'),
            (last,),
            read=stage_seconds,
            kill_when=lambda f: saved_iteration(f) > iterations.calibration,
        ),
        Step(
            'test',
            (test, 'card.py', last, *t_score, 'work_dirs/test'),
            read=lambda folder: scores(folder / 'work_dirs/test'),
        ),
        Step(
            'figures',
            (analysis / 'figures.py', 'card.py', last, *figures),
            (f'{CARD_DIR}/figures',),
        ),
        Step(
            'offsets',
            (OFFSETS, 'offsets', 'card.py', last, '--work-dir', CARD_DIR),
            (f'{CARD_DIR}/paper',),
        ),
    ]


def saved_iteration(folder: Path) -> int:
    """Iteration of the card's newest checkpoint, 0 if there is none."""
    names = (folder / CARD_DIR).glob('iter_*.pth')
    return max((int(n.stem.removeprefix('iter_')) for n in names), default=0)


def scores(work_dir: Path) -> dict[str, float]:
    """Scores that our tools/test.py has written."""
    return json.loads((work_dir / 'test_scores.json').read_text())['scores']


def stock_scores(folder: Path) -> dict[str, float]:
    """Scores that MMSeg's tools/test.py has written, of its last run."""
    found = sorted((folder / 'work_dirs/stock').glob('*/*.json'))
    if not found:
        raise UserError(f"{folder}/work_dirs/stock: no scores of MMSeg's.")
    report = json.loads(found[-1].read_text())
    return {name: report[name] for name in ('mIoU', 'aAcc', 'mAcc')}


def stage_seconds(folder: Path) -> dict[str, float]:
    """Median seconds of an iteration of F, and of G with D."""
    times: dict[str, list[float]] = {}
    for log in find_logs(folder / CARD_DIR):
        for line in log.read_text().splitlines():
            entry = json.loads(line)
            name = 'G' if any('loss_adv' in key for key in entry) else 'F'
            if 'time' in entry:
                times.setdefault(name, []).append(entry['time'])
    return {
        f'seconds_{name}': sorted(values)[len(values) // 2]
        for name, values in times.items()
    }
