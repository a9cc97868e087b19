"""Rows of mmcar's own."""

from functools import partial

from .plans import (
    BASE,
    F_KEY,
    FIELDS,
    FLOOR,
    GUMBEL,
    SMALLER,
    Plan,
    Training,
    car,
    f_training,
    net,
    net_f,
)
from .tasks import Task

G_BASE = 5
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


WARM = 'fields, temperature 0.8'


def averaged(task: Task, variant: str, rate: float) -> Plan:
    """The same, on the mean of F over all views of the image."""
    generator = SMOOTH if variant == WARM else DRAWS[variant]
    temperature = 0.8 if variant == WARM else 1.0
    f = net_f(task, BASE, views=True)
    model = car(task, f, generator, temperature=temperature)
    return Plan(f_training(task, rate), lambda _: model)


def energy(task: Task, kind: str, weight: float) -> dict:
    """A loss on the IoU of samples."""
    return dict(type=kind, loss_weight=weight, classes=task.scored, smooth=0.1)


def tuned(task: Task, variant: str, rate: float) -> Plan:
    """F tuned by losses of the samples that are drawn from it.

    F and the net average over views outside training, as in the quickstart.
    """
    generator = DRAWS['fields' if variant == 'fields' else LEVELS]
    scale = 1.0 if variant == 'temperature 1' else 0.8

    def tune(paths: list[str]) -> Training:
        model = car(
            task,
            net(task, BASE, paths[0]),
            dict(
                generator,
                type='TunedSampler',
                net=net(task, BASE, paths[0]),
                net_temperature=scale,
                temperature=0.1,
            ),
            loss_samples=[
                energy(task, 'EnergyLoss', 1.0),
                energy(task, 'MatchingLoss', 1.0),
            ],
        )
        return Training('tuned', model, dict(generator=rate / 2), 0.5)

    # Samples are those of the tuned net as F: one net is enough.
    f = net(task, BASE, views=True)
    model = car(task, f, generator, temperature=scale)
    return Plan(
        [*f_training(task, rate, BASE, 0.5), tune],
        lambda _: model,
        renamed=('decode_head.generator.net.', F_KEY),
    )


LEVELS = 'one number per class'


def learnt_fields(task: Task, variant: str, rate: float) -> Plan:
    """A small net learns which pixels vary together; F stays as it is."""
    views = variant == 'F averaged over views'
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


FED = 'D with a head start and little R1'


def recipe(task: Task, variant: str, rate: float) -> Plan:
    """A refinement net that starts as the training-free sampler."""
    fed, no_d = variant == FED, variant == 'without D'
    generator = dict(
        type='RefinementUNet',
        noise_size=8,
        base_channels=G_BASE,
        norm_cfg=None,
        dropout=0.0,
        film='residual',
        upsample='resize',
        gumbel=dict(floor=FLOOR),
        temperature=0.05,
    )
    d_rate = 1e-3 if fed else rate / 10
    r1 = dict(type='R1Hook', weight=0.01 if fed else 10.0, interval=8)
    ema = dict(type='NetworkEMAHook', network='generator', momentum=0.01)

    def model(paths: list[str]) -> dict:
        found = car(
            task,
            net_f(task, SMALLER, paths),
            generator,
            noise=dict(type='NormalNoise'),
            loss_samples=[
                dict(type='CalibrationLoss', loss_weight=5.0),
                energy(task, 'EnergyLoss', 10.0),
            ],
        )
        if no_d:
            return found
        d = dict(type='DCGANDiscriminator', base_channels=16, depth=3)
        if fed and len(paths) > (not task.known):  # it has had its start
            d['init_cfg'] = dict(
                type='Pretrained',
                prefix='discriminator.',
                checkpoint=paths[not task.known],
            )
        weight = 2.0 if fed else 1.0
        loss = dict(type='AdversarialLoss', loss_weight=weight)
        return dict(found, discriminator=d, loss_adv=loss)

    def head_start(share: float, paths: list[str]) -> Training:
        rates = dict(discriminator=d_rate)
        return Training('d', model(paths), rates, share, hooks=[r1])

    def refine(share: float, paths: list[str]) -> Training:
        rates = dict(generator=rate)
        if not no_d:
            rates['discriminator'] = d_rate
        hooks = [ema] if no_d else [ema, r1]
        return Training('recipe', model(paths), rates, share, hooks=hooks)

    trainings = f_training(task, rate, SMALLER, 0.5)
    share = 0.5 if trainings else 1.0
    if fed:
        trainings = [*trainings, partial(head_start, 0.2 * share)]
        share *= 0.8
    return Plan([*trainings, partial(refine, share)], model)


def car_paper(task: Task, variant: str, rate: float) -> Plan:
    """Calibrated Adversarial Refinement as in the paper."""
    weight = 50.0 if variant == 'L_cal 50' else 5.0
    always = variant == 'D at every iteration, its rate tenfold'
    rates = dict(generator=rate, discriminator=rate / (2 if always else 20))

    def model(paths: list[str]) -> dict:
        return car(
            task,
            net_f(task, SMALLER, paths),
            dict(
                type='RefinementUNet',
                noise_size=8,
                base_channels=G_BASE,
                norm_cfg=dict(type='BN'),
                dropout=0.1,
            ),
            discriminator=dict(
                type='DCGANDiscriminator', base_channels=16, depth=3
            ),
            loss_adv=dict(type='AdversarialLoss', loss_weight=10.0),
            loss_samples=[dict(type='CalibrationLoss', loss_weight=weight)],
        )

    def refine(share: float, paths: list[str]) -> Training:
        return Training(
            'car',
            model(paths),
            rates,
            share,
            hooks=[dict(type='R1Hook', weight=10.0)],
            cycles={} if always else dict(discriminator=(50, 200)),
        )

    trainings = f_training(task, rate, SMALLER, 0.5)
    share = 0.5 if trainings else 1.0
    return Plan([*trainings, partial(refine, share)], model)
