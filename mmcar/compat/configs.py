"""Finding configs by package, and telling their texts from code."""

import ast
import contextlib
import functools
import importlib.metadata
from pathlib import Path
from typing import Any

from ..utils.errors import MissingFileError
from ..utils.files import inside

PREFIX = 'mmcar::'
PACKAGE = Path(__file__).parents[1]
# What the text of a dumped config is made of, besides names and ``dict()``.
PLAIN_NODES = (
    ast.Module,
    ast.Assign,
    ast.Constant,
    ast.Dict,
    ast.List,
    ast.Tuple,
    ast.Set,
    ast.UnaryOp,
    ast.USub,
    ast.Load,
    ast.Store,
    ast.keyword,
)


def config_folder() -> Path:
    """The configs: inside an installed package, else in the repository."""
    installed = PACKAGE / '.mim' / 'configs'
    return installed if installed.is_dir() else PACKAGE.parent / 'configs'


def find_config(name: str) -> str:
    """The file of a config ``mmcar::folder/name.py``.

    Args:
        name: With the prefix.

    Raises:
        MissingFileError: There is no such config.
    """
    folder = config_folder()
    path = inside(folder, name.removeprefix(PREFIX))
    if not path.is_file():
        raise MissingFileError(
            f'There is no config {name}: expected the path of a file '
            f'relative to {folder}, for example {PREFIX}car/car_lidc.py.'
        )
    return str(path)


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
    """Let MMEngine find ``mmcar::`` configs, and take ``::`` at the top.

    MMEngine has a fixed list of packages, looks only where packages are
    installed (and not where an editable install points to), and reads
    ``package::`` in ``_base_`` alone. Ours are read as by their path: what
    they name is registered with MMSegmentation, not in a scope of its own.
    """
    from mmengine.config import Config
    from mmengine.config.utils import MODULE2PACKAGE

    if 'mmcar' in MODULE2PACKAGE:
        return
    MODULE2PACKAGE['mmcar'] = 'mmcar'
    stock_path, from_file = Config._get_cfg_path, Config.fromfile

    def get_path(cfg_path: str, filename: str) -> tuple[str, str | None]:
        if cfg_path.startswith(PREFIX):
            return find_config(cfg_path), None
        return stock_path(cfg_path, filename)

    @functools.wraps(from_file)
    def read(filename: str | Path, *args: Any, **kwargs: Any) -> Config:
        if '::' in str(filename):
            filename = get_path(str(filename), '')[0]
        return from_file(filename, *args, **kwargs)

    Config._get_cfg_path = staticmethod(get_path)
    Config.fromfile = staticmethod(read)


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
    return isinstance(node, (ast.Name, *PLAIN_NODES))
