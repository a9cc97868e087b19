"""Every method, and the settings that are tried by one rule for all.

The rule: three learning rates with the method's usual variant, then two other
variants with the best of these rates.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from . import flows, others, ours, refined
from .plans import Plan
from .tasks import Task

RATES = (1e-3, 3e-3, 1e-2)
FREE = 'training_free'
DIET_RATE = RATES[1]  # at which diets of D are compared


class Setting(NamedTuple):
    """A variant of a method and its learning rate."""

    variant: str
    rate: float

    def __str__(self) -> str:
        return f'{self.variant}, lr {self.rate:g}'

    @classmethod
    def parse(cls, text: str) -> 'Setting':
        """The setting that a record names."""
        variant, _, rate = text.rpartition(', lr ')
        return cls(variant, float(rate))


@dataclass(frozen=True)
class Method:
    """A row of the table.

    Attributes:
        title: What it is called.
        make: The plan of a task, a variant and a learning rate.
        variants: Names of its variants, the usual one first.
        ours: Whether it is one of mmcar's own.
        needs: What it cannot do without: ``'image'`` (it learns from images,
            so an F that is given is of no use to it), ``'image alone'`` (a
            black box is of no use either) or ``'twins'``.
        slow: Whether it learns in minutes, not seconds, so that the smoke
            test leaves it out.
    """

    title: str
    make: Callable[[Task, str, float], Plan]
    variants: Sequence[str]
    ours: bool = False
    needs: str | None = 'image'
    slow: bool = False

    def fits(self, task: Task) -> bool:
        """Whether the task has what the method needs."""
        if self.slow and not task.own_budget:
            return False
        if task.known:
            return self.needs is None
        if self.needs == 'twins':
            return bool(task.twins)
        return not (task.black_box and self.needs == 'image alone')

    def plan(self, task: Task, setting: Setting) -> Plan:
        """How a setting comes to samples."""
        return self.make(task, *setting)

    def rates(self, task: Task) -> list[Setting]:
        """What is tried first."""
        usual = self.variants[0]
        trains = self.make(task, usual, RATES[0]).trainings
        return [Setting(usual, r) for r in (RATES if trains else RATES[:1])]

    def others(
        self, task: Task, geds: Mapping[Setting, float]
    ) -> list[Setting]:
        """What is tried then, by the scores of the first."""
        rate = best_of(geds).rate
        return [
            Setting(variant, rate)
            for variant in self.variants[1:]
            # An F that is given is the same in every view.
            if not (task.known and variant == ours.VIEWS)
        ]


def best_of(geds: Mapping[Setting, float]) -> Setting:
    """The setting with the smallest GED; one without any is no candidate.

    Equal ones by name: runs and page list them in different orders.
    """
    return min(geds, key=lambda s: (math.isnan(geds[s]), geds[s], s))


METHODS = {
    FREE: Method(
        'training-free on F',
        ours.training_free,
        (*ours.DRAWS,),
        True,
        None,
    ),
    'averaged': Method(
        'training-free on F averaged over views',
        ours.averaged,
        (ours.LEVELS, 'fields', ours.WARM),
        True,
    ),
    'groups': Method(
        'training-free on F, groups of names, views',
        ours.grouped,
        (ours.ONE_VIEW, ours.VIEWS, ours.LONGER),
        True,
        'twins',
    ),
    'learnt': Method(
        'learnt fields on F',
        ours.learnt_fields,
        ('energy loss', 'with a matching loss', ours.VIEWS),
        True,
        None,
    ),
    'tuned': Method(
        'tuned F, views',
        ours.tuned,
        (ours.ONE_VIEW, ours.VIEWS, ours.MATCHED),
        True,
        'image alone',
    ),
    'recipe': Method(
        'recipe: F and G',
        refined.recipe,
        refined.TUNED_DIETS,
        True,
        None,
    ),
    'ranked': Method(
        'F and G, calibrated by rank',
        partial(refined.recipe, ranked=True),
        refined.TUNED_DIETS,
        True,
        None,
        True,
    ),
    'exact_flow': Method(
        'Flow-SSN on F, exact margins',
        flows.exact_flow,
        (*flows.SCALES,),
        True,
        slow=True,
    ),
    'car': Method(
        'CAR as in the paper',
        refined.car_paper,
        (
            'as in the paper',
            'L_cal 50',
            'D at every iteration, its rate tenfold',
        ),
        True,
        None,
    ),
    'flow': Method('Flow-SSN', flows.flow, flows.FLOWS, slow=True),
    'ssn': Method(
        'Stochastic Segmentation Network', others.ssn, (*others.RANKS,)
    ),
    'prob_unet': Method(
        'Probabilistic U-Net', others.prob_unet, (*others.BETAS,)
    ),
    'mc_dropout': Method('MC dropout', others.mc_dropout, (*others.DROPOUTS,)),
    'ensemble': Method(
        'deep ensemble',
        others.ensemble,
        ('decisions', 'with a draw', others.AVERAGED),
    ),
    'views': Method(
        'test-time augmentation', others.views, (*others.DECISIONS,)
    ),
}
# Rows of tables of their own.
CONTROLS = {
    name: Method(
        control.title,
        partial(refined.car_paper, control=name),
        ('as in the paper',),
    )
    for name, control in refined.CONTROLS.items()
}
FEWER = {
    way: Method(way, partial(ours.fewer, way), (*ours.DRAWS,), True, None)
    for way in ours.FEWER
}
