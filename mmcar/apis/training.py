"""Training from a config, with every mistake found before it begins."""

from typing import Any

import torch
from mmengine.config import Config
from mmengine.device import get_device
from mmengine.logging import MMLogger
from mmengine.registry import RUNNERS
from mmengine.runner import Runner
from torch import nn

from ..compat.console import is_quiet, quieten
from ..engine.black_box_cache import prepare_caches
from ..engine.hooks import ProgressHook
from ..utils.errors import UserError
from .config_check import check_config
from .config_errors import naming_keys
from .rehearsal import RehearsalHook


def build_runner(cfg: Config, progress: bool = True) -> Runner:
    """Check a config and build its runner.

    Args:
        cfg: The config, with a ``work_dir``.
        progress: Whether a quiet console shows how far it is.

    Raises:
        UserError: Naming the key that is wrong.
    """
    check_config(cfg)
    if cfg.get('launcher') == 'pytorch' and get_device() == 'cpu':
        # MMEngine joins processes on GPUs only, unless they have joined.
        torch.distributed.init_process_group('gloo')
    with naming_keys(cfg):
        prepare_caches(cfg)
        return _build(cfg, progress)


def _build(cfg: Config, progress: bool) -> Runner:
    if 'runner_type' in cfg:
        return RUNNERS.build(cfg)
    if not is_quiet():
        return Runner.from_cfg(cfg)
    runner = QuietRunner.from_cfg(cfg)
    if progress:
        runner.register_hook(ProgressHook())
    return runner


class QuietRunner(Runner):
    """A runner that tells its log file what others tell the console."""

    def build_logger(self, *args: Any, **kwargs: Any) -> MMLogger:
        """Make the logger, before anything is logged."""
        logger = super().build_logger(*args, **kwargs)
        quieten(logger)
        return logger


def train(runner: Runner, rehearsal: RehearsalHook) -> nn.Module:
    """Train; what fails before the first iteration names its key.

    Args:
        runner: The runner.
        rehearsal: What to try before the first iteration.

    Returns:
        The trained model.
    """
    cfg = rehearsal.cfg
    if cfg.get('train_cfg') is None or cfg.get('train_dataloader') is None:
        raise UserError(
            'there is nothing to train: the config has no train_cfg or no '
            'train_dataloader.'
        )
    runner.register_hook(rehearsal, 'LOWEST')
    try:
        return runner.train()
    except Exception as error:
        if rehearsal.done:
            raise
        with naming_keys(cfg):
            raise error
