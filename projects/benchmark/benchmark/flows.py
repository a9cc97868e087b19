"""Flow-SSN on F or on SSN, as it is and with exact frequencies."""

from functools import partial

from .others import RANKS, ssn_model
from .plans import GUMBEL as ANY  # the flow draws, not this
from .plans import HALF, SMALLER, Plan, Training, car, f_training, net
from .tasks import Task

ON_SSN = 'on SSN'
SCALES = {'scale 1': 1.0, 'scale 2': 2.0, 'scale 0.5': 0.5}
FLOWS = (*(*SCALES,)[:2], ON_SSN)
STEPS = 10


def flow(task: Task, variant: str, rate: float, exact: bool = False) -> Plan:
    """A small net leads noise around the logits of F to label maps.

    Args:
        task: The data set.
        variant: One of `SCALES`, or `ON_SSN`.
        rate: Learning rate of F and of the flow.
        exact: Frequencies of samples are F's, by rank.
    """
    on_ssn = variant == ON_SSN

    def model(paths: list[str]) -> dict:
        weights = paths[0] if paths else None
        if on_ssn:
            base = ssn_model(task, (*RANKS,)[0], SMALLER)
            base['init_cfg'] = dict(type='Pretrained', checkpoint=weights)
        else:
            base = car(task, net(task, SMALLER, weights), ANY)
        return dict(
            type='FlowSSN',
            model=base,
            net=net(task, HALF, in_channels=2 * task.num_classes + 1),
            scale=SCALES.get(variant, 1.0),
            steps=STEPS,
        )

    def learn(paths: list[str]) -> Training:
        return Training('flow', model(paths), dict(flow=rate), 0.5)

    if on_ssn:
        before = ssn_model(task, (*RANKS,)[0], SMALLER)
        trainings = [
            lambda _: Training('ssn-flow', before, dict(net=rate), 0.5)
        ]
    else:
        trainings = f_training(task, rate, SMALLER, 0.5)
    if not exact:
        return Plan([*trainings, learn], model)
    return Plan(
        [*trainings, learn],
        lambda paths: dict(type='ExactMargins', model=model(paths)),
        renamed=('', 'model.'),
    )


exact_flow = partial(flow, exact=True)
