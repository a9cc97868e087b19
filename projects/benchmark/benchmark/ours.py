"""Rows of mmcar's own that draw from F, trained or as it is."""

from dataclasses import replace
from functools import partial

from .plans import (
    BASE,
    F_KEY,
    FIELDS,
    FLOOR,
    GUMBEL,
    Plan,
    Training,
    a_view_per_sample,
    car,
    f_training,
    names,
    net,
    net_f,
)
from .tasks import Task

SMOOTH = dict(GUMBEL, floor=FLOOR, **FIELDS)
DRAWS = {
    'one number per class': dict(GUMBEL, floor=FLOOR),
    'fields': SMOOTH,
    'regions': dict(type='RegionSampler', floor=FLOOR, common=0.5),
}


def training_free(task: Task, variant: str, rate: float) -> Plan:
    """Shared Gumbel noise on F."""
    model = car(task, net_f(task, BASE), DRAWS[variant])
    return Plan(f_training(task, rate), lambda _: model)


# Ways to choose 16 samples that are not independent.
FEWER = {
    'Sobol noise': dict(noise=dict(type='SobolNoise')),
    'support points of 256 draws': dict(test_cfg=dict(support_points=256)),
}


def fewer(way: str, task: Task, variant: str, rate: float) -> Plan:
    """The same, with samples that stand for more of them."""
    plan = training_free(task, variant, rate)
    return replace(plan, model=lambda paths: plan.model(paths) | FEWER[way])


WARM = 'fields, temperature 0.8'


def averaged(task: Task, variant: str, rate: float) -> Plan:
    """The same, on the mean of F over all views of the image."""
    generator = SMOOTH if variant == WARM else DRAWS[variant]
    temperature = 0.8 if variant == WARM else 1.0
    f = net_f(task, BASE, views=True)
    model = car(task, f, generator, temperature=temperature)
    return Plan(f_training(task, rate), lambda _: model)


VIEWS = 'F averaged over views'
ONE_VIEW = 'a view per sample'
LONGER = f'{ONE_VIEW}, fields of 8 pixels'


def grouped(task: Task, variant: str, rate: float) -> Plan:
    """The same, with names drawn once per image and groups by fields."""
    views = variant == VIEWS
    shared = names(task, 8.0 if variant == LONGER else 4.0)
    generator = dict(GUMBEL, floor=FLOOR, **shared)
    model = car(task, net_f(task, BASE, views=views), generator)
    trainings = f_training(task, rate)
    if views:
        return Plan(trainings, lambda _: model)
    model = a_view_per_sample(task, model)
    return Plan(trainings, lambda _: model, renamed=('', 'model.'))


def energy(task: Task, kind: str, weight: float) -> dict:
    """A loss on the IoU of samples."""
    return dict(type=kind, loss_weight=weight, classes=task.scored, smooth=0.1)


MATCHED = f'{ONE_VIEW}, matching loss 1'


def tuned(task: Task, variant: str, rate: float) -> Plan:
    """F tuned by losses of the samples that are drawn from it."""

    def tune(paths: list[str]) -> Training:
        weight = 1.0 if variant == MATCHED else 0.5
        model = car(
            task,
            net(task, BASE, paths[0]),
            dict(
                SMOOTH,
                type='TunedSampler',
                net=net(task, BASE, paths[0]),
                temperature=0.1,
            ),
            loss_samples=[
                energy(task, 'EnergyLoss', 1.0),
                energy(task, 'MatchingLoss', weight),
            ],
        )
        return Training('tuned', model, dict(generator=rate / 2), 0.5)

    # Samples are those of the tuned net as F: one net is enough.
    one_view = variant != VIEWS
    model = car(task, net(task, BASE, views=not one_view), SMOOTH)
    name = F_KEY
    if one_view:
        model, name = a_view_per_sample(task, model), f'model.{F_KEY}'
    return Plan(
        [*f_training(task, rate, BASE, 0.5), tune],
        lambda _: model,
        renamed=('decode_head.generator.net.', name),
    )


LEVELS = 'one number per class'


def learnt_fields(task: Task, variant: str, rate: float) -> Plan:
    """A small net learns which pixels vary together; F stays as it is."""
    views = variant == VIEWS
    losses = [energy(task, 'EnergyLoss', 1.0)]
    if variant == 'with a matching loss':
        losses.append(energy(task, 'MatchingLoss', 1.0))
    generator = dict(type='LearntFieldSampler', rank=8, floor=FLOOR)

    def model(paths: list[str]) -> dict:
        f = net_f(task, BASE, paths, views)
        return car(task, f, generator, loss_samples=losses)

    def learn(share: float, paths: list[str]) -> Training:
        rates = dict(generator=rate)
        return Training('learnt', model(paths), rates, share)

    trainings = f_training(task, rate, BASE, 0.75)
    share = 0.25 if trainings else 1.0
    return Plan([*trainings, partial(learn, share)], model)
