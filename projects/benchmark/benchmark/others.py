"""Rows of methods of others, as published."""

from collections.abc import Callable

from .ours import DRAWS
from .plans import (
    ARGMAX,
    BASE,
    GUMBEL,
    HALF,
    PREPROCESSOR,
    SMALLER,
    Plan,
    Training,
    a_view_per_sample,
    black_box,
    car,
    f_training,
    net,
    one_f,
)
from .tasks import Task

MEMBERS = 4
# Of the prior and the posterior net: thinner where more classes take room.
LATENT = {2: (8, 16, 32)}
THINNER = (8, 16, 24)
# How a method that is no distribution by itself comes to a sample.
DECISIONS = {
    'decisions': ARGMAX,
    'with a draw': GUMBEL,
    'with a draw by fields': dict(DRAWS['fields'], floor=0.0),
}
AVERAGED = 'with a draw by fields, averaged over views'


def learnt(task: Task, kind: str, **arguments: object) -> dict:
    """A model that learns a distribution of its own."""
    return dict(
        type=kind,
        num_classes=task.num_classes,
        features=BASE * task.width,
        black_box=black_box(task),
        data_preprocessor=PREPROCESSOR,
        **arguments,
    )


def alone(name: str, model: dict, rate: float) -> Plan:
    """One training of one network, which then samples."""
    training = Training(name, model, dict(net=rate))
    return Plan([lambda _: training], lambda _: model)


RANKS = {'rank 10': 10, 'rank 5': 5, 'rank 20': 20}


def ssn_model(task: Task, variant: str, base: int) -> dict:
    """A Stochastic Segmentation Network on a net of so many channels."""
    return learnt(
        task,
        'StochasticSegmentationNetwork',
        net=net(task, base),
        rank=RANKS[variant],
        every_annotator=task.soft_labels,
    )


def ssn(task: Task, variant: str, rate: float) -> Plan:
    """Stochastic Segmentation Networks."""
    return alone('ssn', ssn_model(task, variant, BASE), rate)


BETAS = {'beta 1': 1.0, 'beta 10': 10.0, 'beta 0.1': 0.1}


def prob_unet(task: Task, variant: str, rate: float) -> Plan:
    """Probabilistic U-Net."""
    model = learnt(
        task,
        'ProbabilisticUNet',
        net=net(task, SMALLER),
        beta=BETAS[variant],
        encoder_channels=[
            task.width * c for c in LATENT.get(task.num_classes, THINNER)
        ],
        encoder_convs=2,
        encoder_norm_cfg=dict(type='BN'),
    )
    return alone('prob_unet', model, rate)


DROPOUTS = {
    'dropout 0.5': (0.5, ARGMAX),
    'dropout 0.2': (0.2, ARGMAX),
    'dropout 0.5, with a draw': (0.5, GUMBEL),
}


def mc_dropout(task: Task, variant: str, rate: float) -> Plan:
    """Monte-Carlo dropout in the deeper half of the encoder."""
    dropout, generator = DROPOUTS[variant]

    def model(drawn: dict) -> dict:
        return car(
            task,
            net(task, BASE),
            drawn,
            'MCDropout',
            dropout=dropout,
            dropout_after=['backbone.encoder.2', 'backbone.encoder.3'],
        )

    # The same training, however samples are drawn.
    training = Training('mc_dropout', model(ARGMAX), dict(calibration=rate))
    return Plan([lambda _: training], lambda _: model(generator))


def ensemble(task: Task, variant: str, rate: float) -> Plan:
    """A deep ensemble of four thinner nets."""
    trainings: list[Callable[[list[str]], Training]] = [
        one_f(task, rate, HALF, 1 / MEMBERS, seed) for seed in range(MEMBERS)
    ]
    views = variant == AVERAGED
    drawn = DECISIONS['with a draw by fields' if views else variant]
    member = car(task, net(task, HALF, views=views), drawn)

    def model(paths: list[str]) -> dict:
        return dict(type='DeepEnsemble', member=member, checkpoints=paths)

    return Plan(trainings, model, weights=None)


def views(task: Task, variant: str, rate: float) -> Plan:
    """Test-time augmentation, a view per sample."""
    inner = car(task, net(task, BASE), DECISIONS[variant])
    model = a_view_per_sample(task, inner)
    return Plan(
        f_training(task, rate), lambda _: model, renamed=('', 'model.')
    )
