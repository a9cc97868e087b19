"""Which version of its config a folder of results belongs to."""

import argparse
import json
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from mmengine.config import Config, DictAction

from mmcar.utils.errors import UserError
from mmcar.utils.files import write_json

FILE = 'version.json'
# What decides about the weights, and about the scores.
TRAINING_KEYS = (
    'model',
    'train_dataloader',
    'optim_wrapper',
    'param_scheduler',
    'train_cfg',
    'custom_hooks',
    'randomness',
)
TEST_KEYS = ('model', 'test_dataloader', 'test_evaluator', 'test_cfg')


@cache
def load_config(path: Path) -> Config:
    """Read a config, each one once; not to be changed."""
    return Config.fromfile(path)


def config_hash(
    path: Path,
    options: Sequence[str],
    keys: Sequence[str],
    sources: Sequence[str] = (),
) -> str:
    """Hash of what a config says, its bases and options included.

    Args:
        path: The config.
        options: Config options as on a command line, KEY=VALUE.
        keys: Parts of the config that count.
        sources: Hashes of the trainings whose weights are taken over.
    """
    config = Config(load_config(path).to_dict())
    parser = argparse.ArgumentParser()
    parser.add_argument('options', nargs='*', action=DictAction)
    try:
        config.merge_from_dict(parser.parse_args(list(options)).options or {})
    except (KeyError, TypeError) as error:
        raise UserError(
            f'{path} does not take the options {" ".join(options)}: {error}'
        ) from error
    resolved = config.to_dict()
    parts = [{key: resolved.get(key) for key in keys}, *sources]
    text = json.dumps(parts, sort_keys=True, default=str)
    return sha256(text.encode()).hexdigest()[:16]


def recorded(folder: Path) -> str | None:
    """Hash of the config that a folder was made with; None: not known."""
    path = folder / FILE
    return json.loads(path.read_text())['config'] if path.is_file() else None


def claim(
    folder: Path,
    version: str,
    commit: str | None,
    finished: bool,
    keep_old: bool,
) -> None:
    """Mark a folder as of this version; refuse one of another version.

    It is marked before anything runs in it, so that a training that was
    interrupted does not go on with another config.

    Args:
        folder: Where the results are or will be.
        version: Hash of the config.
        commit: Commit of the code, for the record.
        finished: Whether the results are there.
        keep_old: Take finished results of other versions as they are.

    Raises:
        UserError: The folder has work of another version.
    """
    found = recorded(folder)
    if found == version or (finished and keep_old):
        return
    if finished or any(folder.glob('*.pth')):
        advice = 'move the folder away to run it anew'
        if finished:
            advice += ', or take its results as they are with --keep-old'
        raise UserError(
            f'{folder} belongs to another version of its config '
            f'({found or "not recorded"}, now {version}): {advice}.'
        )
    write_json(folder / FILE, dict(config=version, commit=commit))
