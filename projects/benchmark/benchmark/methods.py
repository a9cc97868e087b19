"""Methods, what they are made of, and the settings that are tried.

Every method has `NUM_SETTINGS` settings. Nets are such that all methods have
as many parameters, within 10 %; all train for the same processor time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from .tasks import Task

NUM_SETTINGS = 3
MEMBERS = 4
BASE = 8  # channels of F alone
HALF = 4  # of a member of the ensemble: a quarter of the parameters
SMALLER = 7  # of F where there is a G beside it
G_BASE = 5
# Of the prior and the posterior net: thinner where more classes take room.
LATENT = {2: (8, 16, 32)}
THINNER = (8, 16, 24)
PREPROCESSOR = dict(
    type='StochasticDataPreProcessor',
    mean=[127.5] * 3,
    std=[127.5] * 3,
    pad_val=0,
    seg_pad_val=255,
    size_divisor=1,
)
F_KEY = 'decode_head.calibration.'


@dataclass(frozen=True)
class Training:
    """A training of its own.

    Attributes:
        name: For its folder.
        model: Config of the model.
        rates: Learning rate of every network that trains.
        share: Share of the budget.
        seed: Added to the seed of the run, times 100.
        hooks: Further hooks.
        cycles: See the phases of `AlternatingTrainLoop`.
    """

    name: str
    model: dict
    rates: dict[str, float]
    share: float = 1.0
    seed: int = 0
    hooks: Sequence[dict] = ()
    cycles: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """How a method with one setting comes to its samples.

    Attributes:
        trainings: One after the other; each is called with the weights of
            those before.
        model: Config of what samples, from the weights of all.
        weights: Which training's weights it takes; None: it names them.
        renamed: Start of the weights' names in the training, and here.
    """

    trainings: Sequence[Callable[[list[str]], Training]]
    model: Callable[[list[str]], dict]
    weights: int | None = -1
    renamed: tuple[str, str] = ('', '')


def net(task: Task, base: int, weights: str | None = None) -> dict:
    """A U-Net of MMSeg with four levels."""
    norm = dict(type='BN')
    backbone = dict(
        type='UNet',
        in_channels=3 + 11 * task.black_box,
        base_channels=base,
        num_stages=4,
        strides=(1, 1, 1, 1),
        enc_num_convs=(2, 2, 2, 2),
        dec_num_convs=(2, 2, 2),
        downsamples=(True, True, True),
        enc_dilations=(1, 1, 1, 1),
        dec_dilations=(1, 1, 1),
        norm_cfg=norm,
        init_cfg=[],
    )
    head = dict(
        type='FCNHead',
        in_channels=base,
        in_index=3,
        channels=base,
        num_convs=1,
        concat_input=False,
        norm_cfg=norm,
        init_cfg=None,
    )
    found = dict(type='MMSegCalibration', backbone=backbone, decode_head=head)
    if weights:
        found['init_cfg'] = dict(
            type='Pretrained', prefix=F_KEY, checkpoint=weights
        )
    return found


def car(
    task: Task,
    calibration: dict,
    generator: dict,
    kind: str = 'CARSegmentor',
    temperature: float = 1.0,
    **model: object,
) -> dict:
    """A model of F and G."""
    head = dict(
        type='CARHead',
        num_classes=task.num_classes,
        calibration=calibration,
        generator=generator,
        temperature=temperature,
        black_box=black_box(task),
    )
    return dict(
        type=kind,
        data_preprocessor=PREPROCESSOR,
        decode_head=head,
        train_cfg=dict(num_samples=8, soft_labels=task.soft_labels),
        **model,
    )


def black_box(task: Task) -> dict | None:
    """The black box that every method of a task sees."""
    if not task.black_box:
        return None
    return dict(
        type='BlackBox',
        config='projects/cpu_experiments/configs/camvid/black_box.py',
        checkpoint='BLACK_BOX',  # filled in when it has been trained
    )


ARGMAX = dict(type='ArgmaxSampler')
GUMBEL = dict(type='GumbelSampler')
FLOOR = 0.02  # below, our samplers do not draw a class


def fields(task: Task) -> dict:
    """Training-free samples of smooth fields with a common part."""
    return dict(GUMBEL, correlation_length=task.pixels, common=0.5)


def train_f(
    task: Task, base: int = BASE, share: float = 1.0, seed: int = 0
) -> Callable[[list[str]], Training]:
    """F alone, by cross entropy."""
    model = car(task, net(task, base), GUMBEL)
    rates = dict(calibration=1e-3)
    return lambda _: Training(f'f{base}', model, rates, share, seed)


def draws(task: Task) -> list[tuple[str, dict, float]]:
    """Ways to draw from F: name, generator, temperature of F."""
    smooth = dict(fields(task), floor=FLOOR)
    return [
        ('one number per class', dict(GUMBEL, floor=FLOOR), 1.0),
        ('fields', smooth, 1.0),
        ('fields, temperature 0.7', smooth, 0.7),
    ]


def training_free(task: Task) -> dict[str, Plan]:
    """Shared Gumbel noise on F."""
    return {
        name: Plan(
            [train_f(task)],
            lambda _, g=generator, t=temperature: car(
                task, net(task, BASE), g, temperature=t
            ),
        )
        for name, generator, temperature in draws(task)
    }


def energy(task: Task, kind: str, weight: float) -> dict:
    """A loss on the IoU of samples."""
    return dict(type=kind, loss_weight=weight, classes=task.scored, smooth=0.1)


def recipe(task: Task) -> dict[str, Plan]:
    """A refinement net that starts as the training-free sampler."""
    generator = dict(
        type='RefinementUNet',
        noise_size=8,
        base_channels=G_BASE,
        norm_cfg=None,
        dropout=0.0,
        film='residual',
        upsample='resize',
        gumbel=dict(correlation_length=None),
        temperature=0.05,
    )
    losses = [
        dict(type='CalibrationLoss', loss_weight=5.0),
        energy(task, 'EnergyLoss', 10.0),
    ]

    def model(paths: list[str]) -> dict:
        return car(
            task,
            net(task, SMALLER, paths[0]),
            generator,
            noise=dict(type='NormalNoise'),
            discriminator=dict(
                type='DCGANDiscriminator', base_channels=16, depth=3
            ),
            loss_adv=dict(type='AdversarialLoss', loss_weight=1.0),
            loss_samples=losses,
        )

    def refine(rate: float, paths: list[str]) -> Training:
        return Training(
            'recipe',
            model(paths),
            dict(generator=rate, discriminator=1e-4),
            0.5,
            hooks=[
                dict(type='R1Hook', weight=10.0),
                dict(
                    type='NetworkEMAHook', network='generator', momentum=0.01
                ),
            ],
        )

    return {
        f'lr {rate:g}': Plan(
            [train_f(task, SMALLER, 0.5), partial(refine, rate)], model
        )
        for rate in (2e-4, 5e-4, 1e-3)
    }


def tuned(task: Task) -> dict[str, Plan]:
    """F tuned by losses of the samples that are drawn from it."""

    def tune(generator: dict, scale: float, paths: list[str]) -> Training:
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
        return Training('tuned', model, dict(generator=5e-4), 0.5)

    # Samples are those of the tuned net as F: one net is enough.
    return {
        name: Plan(
            [train_f(task, BASE, 0.5), partial(tune, generator, scale)],
            lambda _, g=generator, t=scale: car(
                task, net(task, BASE), g, temperature=t
            ),
            renamed=('decode_head.generator.net.', F_KEY),
        )
        for name, generator, scale in draws(task)
    }


def car_paper(task: Task) -> dict[str, Plan]:
    """Calibrated Adversarial Refinement as in the paper."""

    def model(weight: float, paths: list[str]) -> dict:
        return car(
            task,
            net(task, SMALLER, paths[0]),
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

    def refine(
        weight: float, rates: tuple[float, float], cycles: dict, paths: list
    ) -> Training:
        names = ('generator', 'discriminator')
        return Training(
            'car',
            model(weight, paths),
            dict(zip(names, rates, strict=True)),
            0.5,
            hooks=[dict(type='R1Hook', weight=10.0)],
            cycles=cycles,
        )

    rests = dict(discriminator=(50, 200))
    settings = {
        'as in the paper': (5.0, (2e-4, 1e-5), rests),
        'lr 1e-3, D at every iteration with 1e-4': (5.0, (1e-3, 1e-4), {}),
        'the same, L_cal 50': (50.0, (1e-3, 1e-4), {}),
    }
    return {
        name: Plan(
            [train_f(task, SMALLER, 0.5), partial(refine, *setting)],
            partial(model, setting[0]),
        )
        for name, setting in settings.items()
    }


def peer(task: Task, kind: str, **arguments: object) -> dict:
    """A model that learns a distribution of its own."""
    return dict(
        type=kind,
        num_classes=task.num_classes,
        features=BASE,
        black_box=black_box(task),
        data_preprocessor=PREPROCESSOR,
        **arguments,
    )


def alone(name: str, model: dict, rate: float = 1e-3) -> Plan:
    """One training of one network, which then samples."""
    training = Training(name, model, dict(net=rate))
    return Plan([lambda _: training], lambda _: model)


def ssn(task: Task) -> dict[str, Plan]:
    """Stochastic Segmentation Networks."""
    return {
        f'rank {rank}, lr {rate:g}': alone(
            'ssn',
            peer(
                task,
                'StochasticSegmentationNetwork',
                net=net(task, BASE),
                rank=rank,
                every_annotator=task.soft_labels,
            ),
            rate,
        )
        for rank, rate in ((10, 1e-3), (10, 3e-3), (5, 3e-3))
    }


def prob_unet(task: Task) -> dict[str, Plan]:
    """Probabilistic U-Net."""
    return {
        f'beta {beta:g}, lr {rate:g}': alone(
            'prob_unet',
            peer(
                task,
                'ProbabilisticUNet',
                net=net(task, SMALLER),
                beta=beta,
                encoder_channels=LATENT.get(task.num_classes, THINNER),
                encoder_convs=2,
                encoder_norm_cfg=dict(type='BN'),
            ),
            rate,
        )
        for beta, rate in ((1.0, 1e-3), (1.0, 3e-3), (10.0, 3e-3))
    }


def mc_dropout(task: Task) -> dict[str, Plan]:
    """Monte-Carlo dropout in the deeper half of the encoder."""

    def model(rate: float, generator: dict, paths: list[str]) -> dict:
        return car(
            task,
            net(task, BASE),
            generator,
            'MCDropout',
            dropout=rate,
            dropout_after=['backbone.encoder.2', 'backbone.encoder.3'],
        )

    def train(rate: float, paths: list[str]) -> Training:
        return Training(
            'mc_dropout', model(rate, ARGMAX, paths), dict(calibration=1e-3)
        )

    settings = {
        'dropout 0.5': (0.5, ARGMAX),
        'dropout 0.2': (0.2, ARGMAX),
        'dropout 0.2, with a draw': (0.2, GUMBEL),
    }
    return {
        name: Plan([partial(train, rate)], partial(model, rate, generator))
        for name, (rate, generator) in settings.items()
    }


def ensemble(task: Task) -> dict[str, Plan]:
    """A deep ensemble of four thinner nets."""
    trainings = [
        train_f(task, HALF, 1 / MEMBERS, seed) for seed in range(MEMBERS)
    ]

    def model(generator: dict, paths: list[str]) -> dict:
        member = car(task, net(task, HALF), generator)
        return dict(type='DeepEnsemble', member=member, checkpoints=paths)

    settings = {
        'decisions of members': ARGMAX,
        'one number per class': GUMBEL,
        'fields': fields(task),
    }
    return {
        name: Plan(trainings, partial(model, generator), weights=None)
        for name, generator in settings.items()
    }


def views(task: Task) -> dict[str, Plan]:
    """Test-time augmentation, a view per sample."""

    def model(generator: dict, paths: list[str]) -> dict:
        inner = car(task, net(task, BASE), generator)
        return dict(
            type='ViewSegmentor', model=inner, symmetries=task.symmetries
        )

    settings = {
        'decisions of views': ARGMAX,
        'one number per class': GUMBEL,
        'fields': fields(task),
    }
    return {
        name: Plan(
            [train_f(task)], partial(model, generator), renamed=('', 'model.')
        )
        for name, generator in settings.items()
    }


@dataclass(frozen=True)
class Method:
    """A row of the table.

    Attributes:
        title: What it is called.
        plans: Settings of a task by name.
        ours: Whether it is one of mmcar's own.
    """

    title: str
    plans: Callable[[Task], dict[str, Plan]]
    ours: bool = False


METHODS = {
    'training_free': Method('training-free on F', training_free, True),
    'tuned': Method('tuned F', tuned, True),
    'recipe': Method('recipe: F and G', recipe, True),
    'car': Method('CAR as in the paper', car_paper, True),
    'ssn': Method('Stochastic Segmentation Network', ssn),
    'prob_unet': Method('Probabilistic U-Net', prob_unet),
    'mc_dropout': Method('MC dropout', mc_dropout),
    'ensemble': Method('deep ensemble', ensemble),
    'views': Method('test-time augmentation', views),
}
