"""What the command-line tools share: arguments, configs and plain errors.

A user's mistake ends in one sentence and exit code 2; ``--debug`` or
``MMCAR_DEBUG=1`` shows the traceback. The console shows bars and what a user
can act on; ``--verbose`` shows all.
"""

import argparse
import ctypes
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from mmengine.config import Config, DictAction
from mmengine.device import get_device
from mmengine.runner import Runner

from .compat.configs import read_config
from .compat.console import quiet
from .config_check import ConfigError
from .engine import unwrap_model
from .models import weights
from .utils.errors import UserError, sentence_of, words_of

LAUNCHERS = ('none', 'pytorch', 'slurm', 'mpi')
AMP_TYPES = ('OptimWrapper', 'AmpOptimWrapper')
REPORT = (
    'if the last lines above are code of your own, the mistake is there. Else '
    'this is a bug: please report it with these lines, the command, the '
    'config and what `python -m mmengine.utils.dl_utils.collect_env` prints.'
)
# Parameters of mallopt, from glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4


def run_tool(main: Callable[[], None]) -> None:
    """Run a tool; turn a user's mistake into one sentence, exit code 2.

    Args:
        main: The tool; parses its own arguments.
    """
    debug = os.environ.get('MMCAR_DEBUG', '') not in ('', '0')
    tool = Path(sys.argv[0]).name
    keep_freed_memory()
    console = nullcontext() if '--verbose' in sys.argv else quiet()
    try:
        with console:
            main()
    except KeyboardInterrupt as stop:
        if debug or '--debug' in sys.argv:
            raise
        print(f'\n{tool}: interrupted. {stop}'.rstrip(), file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        if debug or '--debug' in sys.argv:
            raise
        if (text := sentence_of(error)) is not None:
            print(f'{tool}: error: {text}', file=sys.stderr)
            sys.exit(2)
        traceback.print_exc()
        print(f'{tool}: {REPORT}', file=sys.stderr)
        sys.exit(1)


def keep_freed_memory() -> None:
    """Let glibc reuse the memory of freed tensors.

    By default it returns large blocks to the system at once and has every
    page zeroed again for the next tensor: on a CPU that took up to half of
    the time. Other C libraries have no such setting and are left alone.
    """
    if not sys.platform.startswith('linux'):
        return
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)
    if mallopt is not None:
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that MMSeg's train and test tools have in common."""
    parser.add_argument('config', help='config file path')
    parser.add_argument(
        '--work-dir',
        help='folder for logs, checkpoints and results (default: the '
        "config's work_dir, else work_dirs/<config name>)",
    )
    _add_cfg_options(parser)
    parser.add_argument(
        '--launcher',
        choices=LAUNCHERS,
        default='none',
        help='job launcher (default: none)',
    )
    # torch.distributed.launch passes one or the other spelling.
    parser.add_argument(
        '--local_rank',
        '--local-rank',
        type=int,
        default=0,
        help=argparse.SUPPRESS,
    )
    add_console_arguments(parser)


def add_check_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what says how the config is checked."""
    parser.add_argument(
        '--no-check',
        dest='check',
        action='store_false',
        help='neither check the config nor try anything before the run',
    )
    parser.add_argument(
        '--strict',
        action='store_true',
        help='take warnings about the config for errors',
    )


def add_console_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `run_tool` looks for: how much the console shows."""
    parser.add_argument(
        '--verbose',
        action='store_true',
        help='show everything that goes to the log file, and every warning',
    )
    parser.add_argument(
        '--debug', action='store_true', help='show tracebacks of errors'
    )


def add_prediction_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what tools that predict without a runner have in common."""
    parser.add_argument(
        '--num-samples',
        type=int,
        metavar='N',
        help="samples per image (default: the config's)",
    )
    parser.add_argument(
        '--seed', type=int, help="of the samples (default: the config's)"
    )
    parser.add_argument('--device', help='cpu, cuda:1, ... (default: best)')
    _add_cfg_options(parser)


def _add_cfg_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--cfg-options',
        nargs='+',
        action=DictAction,
        metavar='KEY=VALUE',
        help='override settings of the config, e.g. train_cfg.val_interval=9 '
        'or key="[a,b]"; quote lists and tuples, without white space',
    )


def add_checkpoint_argument(parser: argparse.ArgumentParser) -> None:
    """Add the weights of the config's model, which may need none."""
    parser.add_argument(
        'checkpoint',
        nargs='?',
        help='checkpoint file; may be left out for a model without training',
    )


def load_config(args: argparse.Namespace) -> Config:
    """Read the config that the arguments name and apply them to it.

    Args:
        args: What `add_config_arguments` defines.

    Returns:
        The config, with work dir and launcher set.
    """
    cfg = read_config(args.config, args.cfg_options)
    os.environ.setdefault('LOCAL_RANK', str(args.local_rank))
    cfg.launcher = args.launcher
    default = cfg.get('work_dir') or f'work_dirs/{Path(args.config).stem}'
    cfg.work_dir = args.work_dir or default
    return cfg


@contextmanager
def naming_config(config_path: str) -> Iterator[None]:
    """Name the config's file in errors that name its keys."""
    try:
        yield
    except ConfigError as error:
        error.args = (f'{config_path}: {error}',)
        raise
    except UserError as error:
        raise UserError(f'{config_path}: {words_of(error)}') from error


def enable_amp(cfg: Config) -> None:
    """Make every optimiser wrapper of the config a mixed-precision one.

    Args:
        cfg: Its ``optim_wrapper`` is one config or one per network.
    """
    if get_device() == 'cpu':
        raise UserError('--amp needs a GPU, and none was found.')
    given = cfg.optim_wrapper
    several = [given] if 'optimizer' in given else given.values()
    for wrapper in [one for one in several if isinstance(one, dict)]:
        if wrapper.get('type', 'OptimWrapper') not in AMP_TYPES:
            raise UserError(
                f'--amp works with {" and ".join(AMP_TYPES)}, but the config '
                f'has optim_wrapper type {wrapper.type!r}.'
            )
        wrapper.type = 'AmpOptimWrapper'
        wrapper.setdefault('loss_scale', 'dynamic')


def load_checkpoint(runner: Runner, checkpoint: str | None) -> None:
    """Load a checkpoint into a runner's model; refuse that of another.

    Args:
        runner: Its model gets the weights.
        checkpoint: Path or URL; None for a model that has nothing trained.
    """
    if checkpoint is None:
        if any(p.requires_grad for p in runner.model.parameters()):
            raise UserError('This model has weights: name a checkpoint.')
        return
    # Not by the runner: hooks of a training may ask for what is not there yet.
    weights.load_checkpoint(unwrap_model(runner.model), checkpoint)


def format_table(rows: list[list[str]]) -> str:
    """Lay out rows in columns; the first row is the head.

    Args:
        rows: Cells; the first column is aligned left, the others right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)]
        lines.append('  '.join(cells))
    lines.insert(1, '-' * len(lines[0]))
    return '\n'.join(lines)
