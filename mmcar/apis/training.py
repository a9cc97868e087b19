"""Training and testing from a config, mistakes found before they begin."""

import tempfile
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from mmengine.device import get_device
from mmengine.logging import MMLogger
from mmengine.registry import RUNNERS
from mmengine.runner import Runner
from torch import nn

from ..compat.console import is_quiet, quieten
from ..config_check import (
    ConfigError,
    Plan,
    Preflight,
    Trace,
    check_config,
    judge,
)
from ..engine.black_box_cache import prepare_caches
from ..engine.progress import ProgressHook
from ..utils.errors import UserError


def build_runner(
    cfg: Config, check: bool = True, strict: bool = False
) -> Runner:
    """Check a config and build its runner.

    Args:
        cfg: The config, with a ``work_dir``.
        check: Whether to check the config, and to try all that a training or
            a test will do before it begins.
        strict: Whether warnings are errors.

    Raises:
        UserError: Naming the key that is wrong.
    """
    if cfg.get('launcher') == 'pytorch' and get_device() == 'cpu':
        # MMEngine joins processes on GPUs only, unless they have joined.
        torch.distributed.init_process_group('gloo')
    if check:
        judge(check_config(cfg), strict)
        runner = _build_followed(cfg, strict)
    else:
        prepare_caches(cfg)
        runner = _build(cfg)
    if is_quiet():
        runner.register_hook(ProgressHook())
    return runner


def _build_followed(
    cfg: Config, strict: bool, plan: Plan | None = None
) -> Runner:
    """Build a runner that will try all before it begins."""
    trace = Trace(cfg)
    with trace.building(), trace.at(''):
        prepare_caches(cfg)
        runner = _build(cfg)
    runner.register_hook(Preflight(cfg, trace, strict, plan))
    return runner


def _build(cfg: Config) -> Runner:
    if 'runner_type' in cfg:
        return RUNNERS.build(cfg)
    return (QuietRunner if is_quiet() else Runner).from_cfg(cfg)


class QuietRunner(Runner):
    """A runner that tells its log file what others tell the console."""

    def build_logger(self, *args: Any, **kwargs: Any) -> MMLogger:
        """Make the logger, before anything is logged."""
        logger = super().build_logger(*args, **kwargs)
        quieten(logger)
        return logger


def train(runner: Runner) -> nn.Module:
    """Train; what fails before the first iteration names its key.

    Args:
        runner: Of `build_runner`.

    Returns:
        The trained model.
    """
    cfg = runner.cfg
    if cfg.get('train_cfg') is None or cfg.get('train_dataloader') is None:
        raise UserError(
            'there is nothing to train: the config has no train_cfg or no '
            'train_dataloader.'
        )
    with Preflight.watching(runner):
        return runner.train()


def test(runner: Runner) -> dict[str, float]:
    """Test; what fails before the first image names its key.

    Args:
        runner: Of `build_runner`.

    Returns:
        The scores.
    """
    with Preflight.watching(runner):
        return runner.test()


def dry_run(
    cfg: Config, strict: bool = False, plan: Plan | None = None
) -> str:
    """Build all, load a batch of every loader, try every phase.

    Nothing is trained and nothing is kept: files go to a temporary folder.

    Args:
        cfg: The config, with a ``work_dir``.
        strict: Whether warnings are errors.
        plan: Gets what is found.

    Returns:
        A report for people: warnings, sizes, memory, times, plans.

    Raises:
        UserError: Naming the key that is wrong.
    """
    work_dir, plan = cfg.work_dir, plan or Plan()
    judge(check_config(cfg), strict, plan)
    with tempfile.TemporaryDirectory(prefix='mmcar_dry_run_') as folder:
        cfg.work_dir = folder
        if isinstance(cfg.get('visualizer'), dict):
            # Known by its name for as long as the process lives.
            name = Path(folder).name
            cfg.visualizer.update(name=name, vis_backends=None)
        try:
            runner = _build_followed(cfg, strict, plan)
            if cfg.get('train_cfg') is None and cfg.get('test_cfg'):
                with Preflight.watching(runner) as preflight:
                    preflight.before_test(runner)
            else:
                train(runner)
        except ConfigError as error:
            raise ConfigError(*error.findings, *plan.warnings) from error
    return plan.text(runner, work_dir)
