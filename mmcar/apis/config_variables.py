"""Variables of a config that nobody reads, though they look like settings.

The classic: a child sets ``crop_size`` or ``data_root``, but its base has
put its own value into the pipelines long before.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmengine.config import Config

from ..utils.errors import UserError
from .config_parts import parts_of, value_at
from .signatures import arguments_of

MAX_PLACES = 3
#: Pipelines by the names that configs give them, and who takes them.
PIPELINES = {
    f'{split}_pipeline': f'{split}_dataloader.dataset.pipeline'
    for split in ('train', 'val', 'test')
}
LIVE = 'KeepImageForBlackBox'
#: Dicts that MMSeg 0.x read at the top level.
OLD_SECTIONS = ('optimizer', 'data')
#: A config that a training wrote: its variables have done their work.
DUMPED = 'launcher'


@dataclass(frozen=True)
class ConfigFile:
    """What a config file says about variables.

    Args:
        path: The file.
        assigned: Names that it assigns at its top level, and the text of
            what they get.
        read: Names that it reads, of its own or of its bases.
    """

    path: Path
    assigned: Mapping[str, str]
    read: frozenset[str]


def check_variables(cfg: Config, known: frozenset[str]) -> None:
    """Refuse a variable that is named like a setting but changes none.

    Args:
        cfg: The config, read from a file or not.
        known: Keys that a runner reads.

    Raises:
        UserError: Naming the variable and where the setting stands.
    """
    unread, overridden = _unread(cfg)
    for name in sorted(PIPELINES.keys() & overridden):
        _refuse_idle_pipeline(cfg, name)
    for name in sorted((unread - known) & set(cfg)):
        value = cfg[name]
        # Others keep a dict that is not in use any more.
        if name in {*overridden, *OLD_SECTIONS} or _is_plain(value):
            _refuse_idle(cfg, name, value, name in overridden)


def _refuse_idle_pipeline(cfg: Config, name: str) -> None:
    """Refuse a pipeline that no loader takes; the base's is still at work."""
    taken = [value_at(cfg, loader) for loader in PIPELINES.values()]
    kinds = [step.get('type') for step in cfg[name]]
    # New images take this way, while the loaders read what B has predicted.
    if cfg[name] in taken or LIVE in kinds:
        return
    raise UserError(
        f'{name} is without effect: only a base reads it, which has put its '
        f'own into the loaders already. Set {PIPELINES[name]} instead.'
    )


def _refuse_idle(cfg: Config, name: str, value: Any, overrides: bool) -> None:
    """Refuse a value that stands where nobody looks.

    Args:
        cfg: The config.
        name: A name at the top level that nobody reads.
        value: What it was set to. If settings of that name have this value
            anyway, it does no harm.
        overrides: Whether a base has a variable of that name and uses it.
    """
    places = list(_places(cfg, name))
    if any(_same(value, found) for _, found in places):
        return
    if not (places or overrides):
        return
    listed = ', '.join(
        place if found is None else f'{place}={found!r}'
        for place, found in places[:MAX_PLACES]
    )
    why = 'no line of the config reads it'
    if overrides:
        why = 'only a base reads it, which has used its own value already'
    raise UserError(
        f'{name}={value!r} is without effect: {why}. Set '
        f'{listed or "what is made of it"} instead.'
    )


def _places(cfg: Config, name: str) -> Iterator[tuple[str, Any]]:
    """Where a setting of this name stands, or could."""
    parts = list(parts_of(cfg))
    for part in parts:  # what data say of themselves comes first
        facts = part.cfg.get('metainfo')
        if isinstance(facts, Mapping) and name in facts:
            yield f'{part.path}.metainfo.{name}', facts[name]
    for part in parts:
        kind = part.kind
        if name in part.cfg:
            yield f'{part.path}.{name}', part.cfg[name]
        elif kind is not None and name in arguments_of(kind).names:
            yield f'{part.path}.{name}', None


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return isinstance(value, (bool, int, float, str))


def _same(one: Any, other: Any) -> bool:
    one, other = (list(x) if isinstance(x, tuple) else x for x in (one, other))
    return bool(one == other)


def _unread(cfg: Config) -> tuple[set[str], set[str]]:
    """Names at the top level that no file reads; those that a base uses."""
    path = Path(str(cfg.filename or ''))
    if path.suffix != '.py' or not path.is_file():
        return set(OLD_SECTIONS), set()  # there are no variables
    # A file feeds itself and those that build on it, never its bases.
    read_below: set[str] = set()
    unread: dict[str, str] = {}
    overridden: set[str] = set()
    files = list(_files(path))  # the child first
    for file in files if not _is_dump(files) else ():
        read_below |= file.read
        for name, text in file.assigned.items():
            if name in unread and name in file.read and unread[name] != text:
                overridden.add(name)
            if name not in read_below:
                unread.setdefault(name, text)
    return set(unread), overridden


def _is_dump(files: Sequence[ConfigFile]) -> bool:
    """Whether a config was written by a program: its variables are done."""
    child = files[0]
    alone = len(files) == 1 and child.read.isdisjoint(child.assigned)
    return alone or DUMPED in child.assigned


def _files(path: Path) -> Iterator[ConfigFile]:
    """A config file and all that it builds on, the child first."""
    text = path.read_text(encoding='utf-8')
    tree = ast.parse(re.sub(r'\{\{[^{}]*\}\}', '_', text))
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {n.id for n in names if isinstance(n.ctx, ast.Load)}
    read |= {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and ast.unparse(node.value) == '_base_'
    }
    read |= {*re.findall(r'\{\{\s*_base_\.(\w+)', text)}
    assigned = {
        name.id: ast.unparse(statement.value) if statement.value else ''
        for statement in tree.body
        if isinstance(statement, (ast.Assign, ast.AnnAssign))
        for name in ast.walk(statement)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    yield ConfigFile(path, assigned, frozenset(read))
    for base in _bases(path):
        yield from _files(base)


def _bases(path: Path) -> Iterator[Path]:
    """The files that a config builds on."""
    if Config._is_lazy_import(str(path)):
        return
    for base in Config._get_base_files(str(path)):
        found, _ = Config._get_cfg_path(base, str(path))
        if Path(found).is_file():
            yield Path(found)


def check_options(
    cfg: Config, options: Mapping, known: frozenset[str]
) -> None:
    """Refuse ``--cfg-options`` that set a variable of a config.

    Args:
        cfg: The config, options included.
        options: Dotted keys and values.
        known: Keys that a runner reads.
    """
    for key in options:
        name = str(key).partition('.')[0]
        if name not in known:
            raise UserError(
                f'--cfg-options {key}: no part reads {name!r}; a variable of '
                'a config is used while its file is read, before.'
                f'{_instead(cfg, name)}'
            )


def _instead(cfg: Config, name: str) -> str:
    places = [place for place, _ in _places(cfg, name)][:MAX_PLACES]
    return f' Set {", ".join(places)}.' if places else ''
