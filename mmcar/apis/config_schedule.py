"""Settings that count iterations, held against those of the training."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmengine.config import Config
from mmengine.optim import scheduler as schedulers

from ..engine import AlternatingTrainLoop, Schedule
from ..utils.errors import UserError
from .config_parts import Part, parts_of, setting_of

SECTION = 'param_scheduler'
HOOKS = ('default_hooks', 'custom_hooks')
IDLE = 0.1  # share of a network's iterations, with a learning rate of 0
CUT = 0.5  # share of a scheduler's way below which it is worth a word
#: What says where the learning rate ends; it is 0 if none of them does.
ENDS = {
    schedulers.CosineAnnealingLR: ('eta_min', 'eta_min_ratio', 'T_max'),
    schedulers.PolyLR: ('eta_min',),
    schedulers.LinearLR: ('end_factor',),
}
#: Schedulers that act at times counted from their begin.
STEPS = {
    schedulers.MultiStepParamScheduler: 'milestones',
    schedulers.StepParamScheduler: 'step_size',
}


@dataclass(frozen=True)
class Span:
    """A scheduler, at work for one network.

    Args:
        part: Of the config.
        network: Name of the network, '' if there is one only.
        first: The network's first iteration.
        last: Its last one; None if that is not known.
    """

    part: Part
    network: str
    first: int
    last: int | None

    @property
    def begin(self) -> Any:
        """Where the scheduler begins, a number if all is right."""
        begin = self.part.cfg.get('begin', 0)
        return self.first if begin == 'phase' else begin

    @property
    def end(self) -> Any:
        """Where it ends; None for never."""
        end = self.part.cfg.get('end')
        return self.last if end == 'phase' else end

    @property
    def owner(self) -> str:
        """Whose learning rate it is, in words."""
        return self.network or 'the model'

    def ends_at_zero(self) -> bool:
        """Whether nothing is learnt after its end."""
        return any(
            self.part.is_a(kind)
            and not any(setting_of(self.part, key) for key in keys)
            for kind, keys in ENDS.items()
        )


def schedule_of(cfg: Config) -> Schedule | None:
    """The phases of a training; None for another loop.

    Raises:
        UserError: Naming what is wrong with a phase by itself.
    """
    loops = [part for part in parts_of(cfg) if part.path == 'train_cfg']
    if not loops or not loops[0].is_a(AlternatingTrainLoop):
        return None
    phases = loops[0].cfg.get('phases')
    if not isinstance(phases, (list, tuple)) or not all(
        isinstance(phase, Mapping) for phase in phases
    ):
        raise UserError(
            f'train_cfg.phases={phases!r}: expected a list of dicts.'
        )
    try:
        return Schedule(phases)
    except UserError as error:
        raise UserError(f'train_cfg.{error}') from error


def check_schedule(cfg: Config, parts: Sequence[Part]) -> None:
    """Refuse what would never act, or would end the learning too early.

    Args:
        cfg: The config; its keys have been checked.
        parts: Its parts.

    Raises:
        UserError: Naming the key of the network.
    """
    schedule = schedule_of(cfg)
    if schedule is not None and not schedule.max_iters:
        raise UserError(
            'train_cfg.phases: all have iters=0, so that nothing is trained.'
        )
    spans = list(_spans(cfg, parts, schedule))
    for span in spans:
        _check_order(span)
        _check_rest(span, spans)
        if span.part.cfg.get('gamma') == 0:
            raise UserError(
                f'{span.part.path}.gamma=0: after the first step the learning '
                'rate is 0, and nothing is learnt.'
            )
    for part in parts:
        if part.section in HOOKS:
            _check_begin(cfg, part, schedule)


def _spans(
    cfg: Config, parts: Sequence[Part], schedule: Schedule | None
) -> Iterator[Span]:
    """Every scheduler, once for each network that it is at work for."""
    lengths: dict[str, tuple[int, int | None]] = {}
    if schedule is None:
        lengths[''] = 0, (cfg.get('train_cfg') or {}).get('max_iters')
    for name in schedule.networks if schedule else ():
        if schedule and schedule.num_updates(name, schedule.max_iters):
            lengths[name] = schedule.first_iter(name), schedule.last_iter(name)
    for part in parts:
        if part.section != SECTION or 'type' not in part.cfg:
            continue
        owner = part.path.removeprefix(SECTION).partition('.')[2]
        owner = owner.partition('[')[0]
        for name, (first, last) in lengths.items():
            if owner in ('', name):
                yield Span(part, name, first, last)


def _check_order(span: Span) -> None:
    """Refuse a scheduler that ends before it begins."""
    begin, end = span.begin, span.end
    if isinstance(begin, int) and isinstance(end, int) and end <= begin:
        where = f', where {span.owner} begins' if begin == span.first else ''
        raise UserError(
            f'{span.part.path}.end={end} is not after begin={begin}{where}: '
            'the scheduler would do nothing.'
        )


def _check_rest(span: Span, spans: Sequence[Span]) -> None:
    """Refuse a learning rate that is 0 while its network still trains."""
    end, last = span.end, span.last
    if not isinstance(end, int) or last is None or not span.ends_at_zero():
        return
    if not span.network:
        return  # configs of MMSeg's own do so
    if any(
        other.network == span.network
        and isinstance(other.begin, int)
        and other.begin >= end
        for other in spans
    ):
        return  # it rises again
    if last - max(end, span.first) > IDLE * (last - span.first):
        raise UserError(
            f'{span.part.path}.end={end}: the learning rate is 0 from there '
            f'on, but {span.owner} trains from iteration {span.first} to '
            f'{last}. Make them agree, or set a rate to end with.'
        )


def _check_begin(cfg: Config, part: Part, schedule: Schedule | None) -> None:
    """Refuse a hook that begins when all is over."""
    network = setting_of(part, 'network')
    if schedule is None:
        total = (cfg.get('train_cfg') or {}).get('max_iters')
    elif network in schedule.networks:
        total = schedule.num_updates(network, schedule.max_iters)
    else:
        total = schedule.max_iters
    for key in ('begin', 'begin_iter'):
        begin = setting_of(part, key)
        if isinstance(begin, int) and total and begin >= total:
            raise UserError(
                f'{part.path}.{key}={begin}, but {network or "the model"} '
                f'trains {total} iterations: the hook would never act. Lower '
                'it, or remove the hook.'
            )


def shortened(cfg: Config) -> Iterator[str]:
    """What a training is too short for, in one sentence each.

    A trial of a long training is as it should be, so nothing is refused.

    Args:
        cfg: The config, checked.
    """
    told: dict[str, str] = {}
    for span in _spans(cfg, list(parts_of(cfg)), schedule_of(cfg)):
        if (sentence := _cut(span)) is not None:
            told.setdefault(span.part.path, sentence)
    yield from told.values()


def _cut(span: Span) -> str | None:
    """What a scheduler would do after the last iteration of its network."""
    path, begin, end, last = span.part.path, span.begin, span.end, span.last
    if not isinstance(begin, int) or not isinstance(last, int):
        return None
    times = [
        setting_of(span.part, key)
        for kind, key in STEPS.items()
        if span.part.is_a(kind)
    ]
    firsts = [min(t) if isinstance(t, (list, tuple)) else t for t in times]
    if begin >= last:
        return (
            f'{path}.begin={begin} is after the last iteration of '
            f'{span.owner}, {last}: the scheduler does nothing.'
        )
    if any(begin + first >= last for first in firsts):
        return (
            f'{path}: its first step, {firsts[0]} iterations after {begin}, '
            f'is after the last iteration of {span.owner}, {last}: the '
            'learning rate stays as it is.'
        )
    if isinstance(end, int) and last - begin < CUT * (end - begin):
        return (
            f'{path}.end={end}, but {span.owner} trains until iteration '
            f'{last}: the learning rate goes '
            f'{(last - begin) / (end - begin):.0%} of its way.'
        )
    return None
