"""Data sets of the benchmark, and which training images are held out."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

CONFIGS = Path(__file__).parents[1] / 'configs' / '_base_'
# Of the training images, by which settings are chosen.
HELD_OUT = 5


@dataclass(frozen=True)
class Task:
    """A data set.

    Attributes:
        name: Its name.
        title: What the page calls it.
        num_classes: Number of classes K.
        scored: Classes whose IoU counts; None for all.
        symmetries: Symmetries of its images, as `TTASegmentor` names them.
        case: Part of a file's path below the images' folder that images of
            one case share, as a pattern; they are held out together. None:
            blocks of 15 files.
        black_box: Whether methods see the predictions of a black box.
        second: The score beside GED that decides who wins.
        twins: Classes that are names of one thing.
        known: Whether F is given, as the annotators' mean (a control: it is
            that of the test images, too).
        data: Name of its config; its own by default.
        width: Factor of all nets' channels: larger images, larger nets.
        own_budget: Whether its trainings have longer budgets than the page's
            smoke test, so that it runs only when it is named.
    """

    name: str
    title: str
    num_classes: int
    scored: tuple[int, ...] | None
    symmetries: str
    case: str | None
    black_box: bool = False
    second: str = 'HM-IoU_16'
    twins: tuple[tuple[int, int], ...] = ()
    known: bool = False
    data: str | None = None
    width: int = 1
    own_budget: bool = False

    @property
    def config(self) -> Path:
        """Config of the data."""
        return CONFIGS / f'{self.data or self.name}.py'

    @property
    def soft_labels(self) -> bool:
        """Whether an image has several annotators to learn the mean of."""
        return not self.black_box


KITS = Task(
    'kits', 'KiTS, simulated image', 4, (1, 2, 3), 'horizontal', r'.*(?=_)'
)
BUBIL = Task('bubil', 'BU-BIL cells', 2, (1,), 'square', r'.*')
TASKS = {
    task.name: task
    for task in (
        BUBIL,
        replace(
            BUBIL,
            name='bubil64',
            title='BU-BIL cells, 64x64',
            width=2,
            own_budget=True,
        ),
        Task(
            'lidc',
            'LIDC, real CT, 64x64',
            2,
            (1,),
            'square',
            r'LIDC-IDRI-\d+',
            width=2,
            own_budget=True,
        ),
        Task('ct', 'LIDC shapes, simulated CT', 2, (1,), 'square', r'[^_]*'),
        Task(
            'camvid',
            'CamVid flips on a black box',
            16,
            None,
            'horizontal',
            None,
            black_box=True,
            second='flip_error',
            twins=((4, 11), (9, 12), (8, 13), (5, 14), (3, 15)),
        ),
        KITS,
        replace(
            KITS,
            name='kits_control',
            title='KiTS, F given',
            known=True,
            data='kits',
        ),
    )
}


def split(
    names: Sequence[str], pattern: str | None
) -> tuple[list[int], list[int]]:
    """Divide training images: every fifth case is held out.

    Args:
        names: Paths of the images below their folder, in order.
        pattern: What images of one case share, from the start of the name.

    Returns:
        Indices to train with and indices held out.
    """
    case_of: Callable[[int], str]
    if pattern is None:
        case_of = lambda i: f'{i // 15:06d}'  # noqa: E731
    else:
        case_of = lambda i: re.match(pattern, names[i])[0]  # noqa: E731
    cases = sorted({case_of(i) for i in range(len(names))})
    chosen = set(cases[HELD_OUT - 1 :: HELD_OUT])
    held_out = [i for i in range(len(names)) if case_of(i) in chosen]
    kept = [i for i in range(len(names)) if case_of(i) not in chosen]
    return kept, held_out
