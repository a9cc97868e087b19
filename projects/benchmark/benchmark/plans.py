"""What methods are made of: trainings, nets, and ways to draw."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .tasks import Task

BASE = 8  # channels of F alone
HALF = 4  # of a member of the ensemble: a quarter of the parameters
SMALLER = 7  # of F where there is a large net beside it
PREPROCESSOR = dict(
    type='StochasticDataPreProcessor',
    mean=[127.5] * 3,
    std=[127.5] * 3,
    pad_val=0,
    seg_pad_val=255,
    size_divisor=1,
)
F_KEY = 'decode_head.calibration.'
# Filled in when they are known.
TRAINED = 'TRAINED'
FITTED = 'FITTED'

ARGMAX = dict(type='ArgmaxSampler')
GUMBEL = dict(type='GumbelSampler')
FLOOR = 0.02  # below, our samplers do not draw a class
PAPER_BETAS = (0.5, 0.99)  # of Adam, for all networks
FIELDS = dict(correlation_length=FITTED, common=FITTED)


def names(task: Task, length: float = 4.0) -> dict:
    """How Gumbel noise is shared where classes have twins; else nothing."""
    if not task.twins:
        return {}
    return dict(correlation_length=length, groups=task.twins)


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
        betas: Of Adam.
        decay: How rates fall, see `ProcessorBudgetHook`.
    """

    name: str
    model: dict
    rates: dict[str, float]
    share: float = 1.0
    seed: int = 0
    hooks: Sequence[dict] = ()
    cycles: dict = field(default_factory=dict)
    betas: tuple[float, float] = (0.9, 0.999)
    decay: str = 'cosine'


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


def net(
    task: Task,
    base: int,
    weights: str | None = None,
    views: bool = False,
    in_channels: int | None = None,
) -> dict:
    """A U-Net of MMSeg with four levels.

    Args:
        task: The data set.
        base: Channels of the first level, for a task of width 1.
        weights: Those it starts from.
        views: Average its probabilities over the task's symmetries.
        in_channels: Those of its input; by default an image's, and the black
            box's.
    """
    norm = dict(type='BN')
    base *= task.width
    backbone = dict(
        type='UNet',
        in_channels=in_channels or 3 + 11 * task.black_box,
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
    if views:
        square = task.symmetries == 'square'
        found['symmetric'] = True if square else task.symmetries
    if weights:
        found['init_cfg'] = dict(
            type='Pretrained', prefix=F_KEY, checkpoint=weights
        )
    return found


def net_f(
    task: Task, base: int, paths: Sequence[str] = (), views: bool = False
) -> dict:
    """F, or the annotators' mean where that is given.

    Args:
        task: The data set.
        base: Channels of the first level.
        paths: Weights of trainings before; the first are F's.
        views: Average its probabilities over the task's symmetries.
    """
    if task.known:
        return dict(type='KnownDistribution')
    return net(task, base, paths[0] if paths else None, views)


def car(
    task: Task,
    calibration: dict,
    generator: dict,
    kind: str = 'CARSegmentor',
    temperature: float = 1.0,
    num_samples: int = 8,
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
        train_cfg=dict(num_samples=num_samples, soft_labels=task.soft_labels),
        **model,
    )


def a_view_per_sample(task: Task, model: dict) -> dict:
    """Every sample from another view of the image."""
    return dict(type='TTASegmentor', model=model, symmetries=task.symmetries)


def black_box(task: Task) -> dict | None:
    """The black box that every method of a task sees."""
    if not task.black_box:
        return None
    return dict(
        type='BlackBox',
        config='projects/cpu_experiments/configs/camvid/black_box.py',
        checkpoint=TRAINED,
    )


def f_training(
    task: Task,
    rate: float,
    base: int = BASE,
    share: float = 1.0,
    betas: tuple[float, float] = Training.betas,
) -> list[Callable[[list[str]], Training]]:
    """F alone, by cross entropy; nothing to train where F is given."""
    if task.known:
        return []
    return [one_f(task, rate, base, share, betas=betas)]


def one_f(
    task: Task,
    rate: float,
    base: int,
    share: float,
    seed: int = 0,
    betas: tuple[float, float] = Training.betas,
) -> Callable[[list[str]], Training]:
    """A training of F."""
    model = car(task, net(task, base), GUMBEL)
    rates = dict(calibration=rate)
    return lambda _: Training(
        f'f{base}', model, rates, share, seed, betas=betas
    )
