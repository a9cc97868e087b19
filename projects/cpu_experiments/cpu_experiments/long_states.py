"""Where long trainings stand: checkpoints that the project hands on.

A training of many hours outlives the machine that began it. Its newest
checkpoint and the curve so far stand beside the page; a work dir that has
none of its own goes on from there.
"""

import shutil
from pathlib import Path

from mmcar.engine.checkpoints import find_resumable_checkpoint
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_file, write_json

from .long_runs import SEED, LongRun, read_curve
from .running import ENDED, Experiments


def hand_on(run: LongRun, experiments: Experiments, states: Path) -> None:
    """Copy a run's newest checkpoint to the states, in place of older ones.

    A run that has ended has none there: nobody is to go on with it.

    Args:
        run: The training.
        experiments: Where it runs.
        states: Folder of all states.
    """
    folder = folder_of(run, experiments)
    found = find_resumable_checkpoint(folder)
    if found is None:
        return
    own = states / run.key
    older = list(own.glob('*.pth'))
    if not (folder / ENDED).is_file():
        own.mkdir(parents=True, exist_ok=True)
        write_file(own / found.name, found.read_bytes())
    for path in older:
        if path.name != found.name or (folder / ENDED).is_file():
            path.unlink()


def take_over(
    run: LongRun, experiments: Experiments, states: Path, record: dict
) -> None:
    """Put the state of a run into its work dir, if that has no checkpoint.

    Args:
        run: The training.
        experiments: Where it is to run.
        states: Folder of all states.
        record: What the page knows of the run.

    Raises:
        UserError: If the state is that of another version of the config.
    """
    folder = folder_of(run, experiments)
    state = find_resumable_checkpoint(states / run.key)
    if state is None or find_resumable_checkpoint(folder) is not None:
        return
    version = experiments.training_version(run.group, run.name, SEED)
    if record.get('config') != version:
        raise UserError(
            f'{state} was trained with another version of the config of '
            f'{run.key} ({record.get("config")}, now {version}): remove it to '
            'start anew.'
        )
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(state, folder)


def end(run: LongRun, experiments: Experiments) -> None:
    """Take a run's newest checkpoint for its last.

    Args:
        run: The training; it must not be running.
        experiments: Where it ran.

    Raises:
        UserError: If there is no checkpoint or no score yet.
    """
    folder = folder_of(run, experiments)
    found = find_resumable_checkpoint(folder)
    curve = read_curve(folder)
    if found is None or not curve:
        raise UserError(f'--end {run.key}: {folder} has no scored checkpoint.')
    report = dict(checkpoint=str(found), minutes=curve['minutes'][-1])
    write_json(folder / ENDED, report)


def folder_of(run: LongRun, experiments: Experiments) -> Path:
    """Work dir of a training."""
    return experiments.folder(run.group, run.name, SEED)


def joined(before: dict, now: dict) -> dict:
    """One curve of a record and of what a work dir has seen since.

    Args:
        before: The record; may be empty.
        now: What the work dir has, from where it began or took over.

    Returns:
        ``now``, with the points of ``before`` that lie ahead of it.
    """
    if before.get('config') != now['config']:
        return now
    first = now['iterations'][0]
    count = sum(i < first for i in before['iterations'])
    if not count:
        return now
    return {
        key: before[key][:count] + value if isinstance(value, list) else value
        for key, value in now.items()
    }
