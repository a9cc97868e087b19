"""Finding configs by package, and telling their texts from code."""

import ast
import contextlib
import copy
import functools
import importlib.metadata
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..utils.errors import MissingFileError, UserError
from ..utils.files import inside

if TYPE_CHECKING:
    from mmengine.config import Config

PREFIX = 'mmcar::'
PACKAGE = Path(__file__).parents[1]
# What the text of a dumped config is made of, besides names and ``dict()``.
PLAIN_NODES = {
    *(ast.Module, ast.Assign, ast.Constant, ast.Dict, ast.List, ast.Tuple),
    *(ast.Set, ast.UnaryOp, ast.USub, ast.Load, ast.Store, ast.Name),
    ast.keyword,
}


def read_config(
    config: 'str | Path | Config',
    options: Mapping | None = None,
    key: str | None = None,
) -> 'Config':
    """Read a config; the one that is given stays as it is.

    Args:
        config: Config, its path, or ``'mmcar::...'`` or ``'mmseg::...'`` for
            one that comes with a package.
        options: Keys to override, e.g. ``{'model.test_cfg.seed': 1}``.
        key: What names it in another config, for errors; it is then one of
            a model.

    Raises:
        MissingFileError: There is no such file.
        UserError: It cannot be read, or says nothing of a model.
    """
    from mmengine.config import Config
    from mmengine.utils import import_modules_from_strings

    name = getattr(config, 'filename', None) or 'the config'
    name = str(config) if isinstance(config, str | Path) else name
    name = f'{key}={config!r}' if key is not None else name
    try:
        if isinstance(config, Config):
            cfg = copy.deepcopy(config)
        else:
            path = str(config)
            path = Config._get_cfg_path(path, '')[0] if '::' in path else path
            if not Path(path).is_file():
                raise FileNotFoundError(path)
            cfg = Config.fromfile(path, import_custom_modules=False)
            if imports := cfg.get('custom_imports'):
                import_modules_from_strings(**imports)
    except FileNotFoundError as error:
        raise MissingFileError(
            f'There is no config {name} ({error}): expected a path, or '
            "'mmcar::<folder>/<name>.py', 'mmseg::<folder>/<name>.py'."
        ) from error
    except Exception as error:  # a config is code: it can raise anything
        lost = getattr(error, 'name', '') == 'pkg_resources'
        hint = "; fix: pip install 'setuptools<81'" if lost else ''
        raise UserError(
            f'{name} cannot be read as a config: {type(error).__name__}: '
            f'{error}{hint}'
        ) from error
    try:
        cfg.merge_from_dict(dict(options or {}))
    except Exception as error:  # keys of lists, of what is no dict, ...
        raise UserError(
            f'The options {options} do not fit {name}: {error}'
        ) from error
    if key is not None and 'model' not in cfg:
        raise UserError(f'{name} has no key `model`: expected a model config.')
    return cfg


def find_stock_configs() -> None:
    """Let ``mmseg::`` find the configs of the onedl fork, if that is there.

    MMEngine looks for them under the name of the official package.
    """
    from mmengine.config.utils import MODULE2PACKAGE

    fork = 'onedl-mmsegmentation'
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        importlib.metadata.distribution(fork)
        MODULE2PACKAGE['mmseg'] = fork


def find_own_configs() -> None:
    """Let MMEngine find ``mmcar::`` in ``_base_``.

    It has a fixed list of packages, and looks only where packages are
    installed (not where an editable install points to). Ours are read as by
    their path: what they name is registered with MMSegmentation, not in a
    scope of its own.
    """
    from mmengine.config import Config

    stock_path = Config._get_cfg_path
    if hasattr(stock_path, '__wrapped__'):
        return

    @functools.wraps(stock_path)
    def get_path(cfg_path: str, filename: str) -> tuple[str, str | None]:
        if not cfg_path.startswith(PREFIX):
            return stock_path(cfg_path, filename)
        folder = PACKAGE / '.mim' / 'configs'  # else in the repository
        folder = folder if folder.is_dir() else PACKAGE.parent / 'configs'
        path = inside(folder, cfg_path.removeprefix(PREFIX))
        if not path.is_file():
            raise MissingFileError(f'There is no config {path}.')
        return str(path), None

    Config._get_cfg_path = staticmethod(get_path)


def is_plain_config(text: object) -> bool:
    """Say whether the text of a config is data: literals and ``dict(...)``.

    Args:
        text: Python source, as MMEngine saves it with a checkpoint.
    """
    # MMEngine substitutes {{ }} before it reads the text, and reads _base_.
    if not isinstance(text, str) or '{{' in text:
        return False
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(_is_plain(node) for node in nodes)


def _is_plain(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == 'dict'
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id not in ('dict', '_base_')
    return type(node) in PLAIN_NODES
