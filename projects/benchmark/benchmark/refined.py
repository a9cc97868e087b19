"""Rows of mmcar's own with a refinement net: the recipe, and the paper's."""

from dataclasses import dataclass, field
from functools import partial

from .ours import energy
from .plans import (
    FLOOR,
    PAPER_BETAS,
    SMALLER,
    Plan,
    Training,
    car,
    f_training,
    names,
    net_f,
)
from .tasks import Task

G_BASE = 5
INDEPENDENT = dict(type='NormalNoise')


@dataclass(frozen=True)
class Diet:
    """How the recipe feeds D.

    Attributes:
        rate: Its learning rate; None: a tenth of G's.
        r1: Weight of R1.
        weight: Weight of the adversarial loss.
        head_start: Share of G's time in which D learns alone, before.
        kind: Its type.
    """

    rate: float | None = None
    r1: float = 10.0
    weight: float = 1.0
    head_start: float = 0.0
    kind: str = 'DCGANDiscriminator'


NO_D = 'without D'
FED = 'D with a head start and little R1'
DIETS = {
    'as in the recipe': Diet(),
    NO_D: None,
    FED: Diet(1e-3, 0.01, 2.0, 0.2),
    'the same, a longer head start': Diet(1e-3, 0.01, 2.0, 0.4),
    'the same, D judges patches': Diet(
        1e-3, 0.01, 2.0, 0.2, 'PatchDiscriminator'
    ),
}
TUNED_DIETS = (*DIETS,)[:3]  # as many variants as other methods have


def discriminator(task: Task, kind: str = 'DCGANDiscriminator') -> dict:
    """D: one level more for images twice as large."""
    return dict(type=kind, base_channels=16, depth=2 + task.width)


def recipe(
    task: Task, variant: str, rate: float, ranked: bool = False
) -> Plan:
    """A refinement net that starts as the training-free sampler.

    Args:
        task: The data set.
        variant: Diet of D.
        rate: Learning rate of F and G.
        ranked: Calibrated by construction: G gives scores, ranks give the
            frequencies, and there is no calibration loss.
    """
    diet = DIETS[variant]
    losses = [
        dict(type='CalibrationLoss', loss_weight=5.0),
        energy(task, 'EnergyLoss', 10.0),
    ][ranked:]
    generator = dict(
        type='RefinementUNet',
        noise_size=8,
        base_channels=G_BASE * task.width,
        norm_cfg=None,
        dropout=0.0,
        film='residual',
        upsample='resize',
        gumbel=dict(floor=FLOOR, **names(task)),
        temperature=1.0 if ranked else 0.05,
    )
    if ranked:
        generator = dict(
            type='RankedGenerator',
            generator=generator,
            groups=task.twins or None,
            temperature=0.1,
        )
    # Twice the shipped one: trainings are short here.
    ema = dict(type='NetworkEMAHook', network='generator', momentum=0.01)
    d_rate: dict[str, float] = {}
    r1: list[dict] = []
    if diet is not None:
        d_rate = dict(discriminator=diet.rate or rate / 10)
        r1 = [dict(type='R1Hook', weight=diet.r1, interval=8)]

    def model(paths: list[str], noise: dict = INDEPENDENT) -> dict:
        found = car(
            task,
            net_f(task, SMALLER, paths),
            generator,
            noise=noise,
            loss_samples=losses,
        )
        if diet is None:
            return found
        d = discriminator(task, diet.kind)
        before = paths[not task.known :]  # beside F
        if diet.head_start and before:
            d['init_cfg'] = dict(
                type='Pretrained',
                prefix='discriminator.',
                checkpoint=before[0],
            )
        loss = dict(type='AdversarialLoss', loss_weight=diet.weight)
        return dict(found, discriminator=d, loss_adv=loss)

    learner = partial(model, noise=dict(type='SobolNoise'))

    def head_start(share: float, paths: list[str]) -> Training:
        return Training(
            'd',
            learner(paths),
            d_rate,
            share,
            hooks=r1,
            betas=PAPER_BETAS,
            decay='none',  # its rate is not to be spent when G begins to move
        )

    def refine(share: float, paths: list[str]) -> Training:
        rates = dict(generator=rate, **d_rate)
        return Training(
            'ranked' if ranked else 'recipe',
            learner(paths),
            rates,
            share,
            hooks=[ema, *r1],
            betas=PAPER_BETAS,
        )

    trainings = f_training(task, rate, SMALLER, 0.5)
    share = 0.5 if trainings else 1.0
    if diet is not None and diet.head_start:
        start = diet.head_start * share
        trainings = [*trainings, partial(head_start, start)]
        share -= start
    return Plan([*trainings, partial(refine, share)], model)


@dataclass(frozen=True)
class Control:
    """A control of the paper: CAR with a part changed.

    Attributes:
        title: What it is called.
        num_samples: M; None: that of CAR.
        loss: In place of the calibration loss.
        generator: Changes of G's config.
    """

    title: str
    num_samples: int | None = None
    loss: str = 'CalibrationLoss'
    generator: dict = field(default_factory=dict)


CONTROLS = {
    'car_m1': Control('CAR as in the paper, M = 1', 1),
    'cgan': Control('cGAN + L_ce', 1, 'SampleCrossEntropy'),
    'cvae': Control(
        'cVAE-GAN + L_cal',
        generator=dict(type='LatentUNet', reparameterize=False),
    ),
}


def car_paper(
    task: Task, variant: str, rate: float, control: str | None = None
) -> Plan:
    """Calibrated Adversarial Refinement as in the paper, or a control."""
    changed = CONTROLS[control] if control else Control('')
    weight = 50.0 if variant == 'L_cal 50' else 5.0
    always = variant == 'D at every iteration, its rate tenfold'
    rates = dict(generator=rate, discriminator=rate / (2 if always else 20))
    # The paper's settings for LIDC; those for Cityscapes on a black box.
    noise_size, num_samples = (32, 7) if task.black_box else (8, 20)
    num_samples = changed.num_samples or num_samples

    def model(paths: list[str]) -> dict:
        return car(
            task,
            net_f(task, SMALLER, paths),
            dict(
                type='RefinementUNet',
                noise_size=noise_size,
                base_channels=G_BASE * task.width,
                norm_cfg=dict(type='BN'),
                dropout=0.1,
            )
            | changed.generator,
            num_samples=num_samples,
            discriminator=discriminator(task),
            loss_adv=dict(type='AdversarialLoss', loss_weight=10.0),
            loss_samples=[dict(type=changed.loss, loss_weight=weight)],
        )

    def refine(share: float, paths: list[str]) -> Training:
        return Training(
            control or 'car',
            model(paths),
            rates,
            share,
            hooks=[dict(type='R1Hook', weight=10.0)],
            cycles={} if always else dict(discriminator=(50, 200)),
            betas=PAPER_BETAS,
        )

    trainings = f_training(task, rate, SMALLER, 0.5, PAPER_BETAS)
    share = 0.5 if trainings else 1.0
    return Plan([*trainings, partial(refine, share)], model)
