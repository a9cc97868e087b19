"""Checkpoints: which can be trusted, and how they survive a kill."""

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from mmengine.dist import broadcast_object_list, is_main_process
from mmengine.fileio import LocalBackend, register_backend
from mmengine.hooks import CheckpointHook
from mmengine.logging import print_log
from mmengine.runner import CheckpointLoader, Runner
from mmseg.registry import HOOKS
from torch import Tensor

from ..models.weights import load_weights
from ..utils.errors import MissingFileError, UserError
from ..utils.files import PART, InUseError, claim_folder, write_file
from .distributed import mean_gradients, unwrap_model

NEEDED = ('state_dict', 'optimizer', 'message_hub', 'meta')


def damage(path: Path) -> str | None:
    """Say what is wrong with a checkpoint to resume from, if anything.

    Args:
        path: The file.

    Returns:
        The reason not to use it; None if it is whole.
    """
    try:
        loaded = CheckpointLoader.load_checkpoint(str(path), 'cpu')
    except UserError as error:
        return str(error)
    if not isinstance(loaded, Mapping):
        return f'it holds a {type(loaded).__name__}'
    missing = [key for key in NEEDED if key not in loaded]
    return f'it has no {missing}' if missing else None


def find_resumable_checkpoint(
    folder: str | Path, template: str = 'iter_{}.pth'
) -> Path | None:
    """Find the newest whole checkpoint of a run.

    Args:
        folder: Folder of the checkpoints.
        template: Their name; a number takes the place of the braces. Neither
            ``best_GED_iter_100.pth`` nor weights of something else match.

    Returns:
        Its path, or None if there is none. Damaged files are passed over
        with a warning.
    """
    before, after = (re.escape(part) for part in template.split('{}'))
    name = re.compile(rf'{before}(\d+){after}')
    numbered = [
        (int(match[1]), path)
        for path in Path(folder).glob('*')
        if (match := name.fullmatch(path.name))
    ]
    for _, path in sorted(numbered, reverse=True):
        problem = damage(path)
        if problem is None:
            return path
        text = f'{path} cannot be resumed from ({problem}): trying an older.'
        print_log(text, 'current', logging.WARNING)
    return None


def check_resumed(runner: Runner, checkpoint: Mapping) -> None:
    """Refuse to resume from a checkpoint of another model.

    MMEngine says in the log what does not fit, and trains on with random
    weights in its place.

    Args:
        runner: Of the training that resumes.
        checkpoint: What it resumes from.

    Raises:
        UserError: Naming the weights that differ.
    """
    load_weights(
        unwrap_model(runner.model),
        checkpoint.get('state_dict', {}),
        f'the checkpoint to resume from, {runner._load_from}',
        'It is of another model: resume with its own config, or move it.',
    )


def check_started(runner: Runner, checkpoint: Mapping) -> None:
    """Refuse a checkpoint to start from of which no weight fits.

    MMEngine says so in the log, and trains from random weights.

    Args:
        runner: Of the training that starts.
        checkpoint: What it starts from.

    Raises:
        UserError: Naming the checkpoint.
    """
    weights = checkpoint.get('state_dict', checkpoint)
    found = {
        (key.removeprefix('module.'), getattr(weight, 'shape', None))
        for key, weight in weights.items()
    }
    state = unwrap_model(runner.model).state_dict().items()
    own = {(k, w.shape) for k, w in state if 'num_batches_tracked' not in k}
    fits = len(own & found)
    what = f'load_from={runner._load_from!r} has {fits} of the {len(own)}'
    what = f'{what} weights of the model; the others start at random.'
    if not fits:
        raise UserError(f'{what} For one network, set its init_cfg.')
    if fits < len(own):
        print_log(what, 'current', logging.WARNING)


GRADIENTS = 'accumulated_gradients'  # keys in a checkpoint
REPLACED = 'replaced_checkpoints'


@register_backend('whole_files')
class WholeFileBackend(LocalBackend):
    """Local files that appear whole or not at all, and go later than told."""

    def __init__(self) -> None:
        super().__init__()
        self.replaced: list[str] = []

    def put(self, obj: bytes, filepath: str | Path) -> None:
        """Write bytes beside the file, then move them into its place."""
        write_file(filepath, obj)

    def remove(self, filepath: str | Path) -> None:
        """Note what `remove_replaced` removes."""
        self.replaced.append(str(filepath))

    def remove_replaced(self) -> None:
        """Remove what was noted; it may be gone."""
        while self.replaced:
            Path(self.replaced.pop()).unlink(missing_ok=True)


@HOOKS.register_module()
class SafeCheckpointHook(CheckpointHook):
    """``CheckpointHook`` without a moment at which no checkpoint is whole.

    Files are written under another name, flushed to disk and renamed; older
    ones are removed only after that. Resuming (without ``load_from``) takes
    the newest whole checkpoint, whatever ``last_checkpoint`` says. Takes the
    arguments of its base class, for local files. Two trainings cannot share a
    work dir.
    """

    lock: BinaryIO | None = None
    gradients: dict[str, Tensor] | None = None  # for the next checkpoint
    backend_args: dict | None
    file_backend: Any
    orphans: Sequence[str] = ()  # what a kill kept from being removed

    def before_run(self, runner: Runner) -> None:
        """Choose the checkpoint to resume from, if that is asked."""
        if not runner._resume or runner._load_from is not None:
            return
        folder = Path(runner.work_dir)
        if self.out_dir is not None:
            folder = Path(self.out_dir) / folder.name
        default = 'epoch_{}.pth' if self.by_epoch else 'iter_{}.pth'
        template = self.filename_tmpl or default
        # One process decides for all: they must not resume apart.
        choice: list[Path | None] = [None]
        if is_main_process():
            choice = [find_resumable_checkpoint(folder, template)]
        broadcast_object_list(choice)
        if choice[0] is None:
            runner.logger.warning(
                f'No whole checkpoint in {folder}: training starts anew.'
            )
            runner._resume = False
        elif not choice[0].is_file():
            raise MissingFileError(
                f'process {runner.rank} cannot see {choice[0]}: give all '
                'processes one work_dir on a shared disk.'
            )
        else:
            runner._load_from = str(choice[0])

    def before_train(self, runner: Runner) -> None:
        """Claim the folder; clear what an interrupted write left there."""
        if self.backend_args or self.file_client_args:
            raise UserError(
                'SafeCheckpointHook writes local files: remove backend_args '
                'and file_client_args, or use CheckpointHook.'
            )
        self.backend_args = dict(backend='whole_files')
        super().before_train(runner)
        for name in self.orphans:
            self.file_backend.remove(Path(self.out_dir, name))
        if is_main_process():
            try:
                self.lock = claim_folder(runner.work_dir)
            except InUseError:
                raise
            except UserError as error:  # nobody can be kept out
                runner.logger.warning(str(error))
            for part in Path(self.out_dir).glob(f'*.pth{PART}'):
                part.unlink()

    def after_run(self, runner: Runner) -> None:
        """Let others train in the folder."""
        if self.lock is not None:
            self.lock.close()
            self.lock = None

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Keep waiting gradients, and what is removed after this."""
        if self.gradients:
            checkpoint[GRADIENTS] = self.gradients
        replaced = self.file_backend.replaced
        checkpoint[REPLACED] = [Path(path).name for path in replaced]

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        """Put waiting gradients back where training goes on."""
        if not runner._resume:
            return
        check_resumed(runner, checkpoint)
        self.orphans = checkpoint.get(REPLACED, ())
        kept = checkpoint.get(GRADIENTS, {})
        for name, weight in unwrap_model(runner.model).named_parameters():
            if name in kept:
                weight.grad = kept[name].to(weight.device)

    def _save_checkpoint_with_step(
        self, runner: Runner, step: int, meta: dict
    ) -> None:
        # Here, where all processes are; one of them saves.
        self.gradients = mean_gradients(unwrap_model(runner.model))
        super()._save_checkpoint_with_step(runner, step, meta)
        self.gradients = None
        self.file_backend.remove_replaced()

    def _save_best_checkpoint(self, runner: Runner, metrics: dict) -> None:
        super()._save_best_checkpoint(runner, metrics)
        self.file_backend.remove_replaced()
