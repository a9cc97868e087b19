"""The house: a room may import the rooms above it, never those below."""

import ast
from pathlib import Path

import pytest

import mmcar

PACKAGE = Path(mmcar.__file__).parent
ROOMS = [
    *(('version', 'utils'), ('structures',), ('sampling',)),
    *(('wrapped_model',), ('compat',), ('datasets',), ('evaluation',)),
    *(('models',), ('engine',), ('report',), ('inference',)),
    *(('config_check',), ('apis',), ('cli',)),
]
RANK = {room: rank for rank, rooms in enumerate(ROOMS) for room in rooms}
# Beyond the order: neither may know the other, though one is above.
STRANGERS = {('models', 'evaluation'), ('models', 'datasets')}

# Above the line: works where MMSegmentation is not installed.
PURE = (
    *('utils', 'structures', 'sampling', 'evaluation/functional'),
    'evaluation/torchmetrics.py',
    *('wrapped_model.py', 'report/pictures.py', 'report/image_figures.py'),
    *('inference/results.py', 'inference/scaling_fit.py'),
    *('inference/image_list.py', 'inference/wrapped_sampler.py'),
)


def imported_modules(path: Path) -> set[str]:
    """Names of modules that a file imports absolutely, wherever it does."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module)
    return names


def imported_rooms(path: Path) -> set[str]:
    """Rooms that a module of the package imports, wherever it does."""
    parts = path.relative_to(PACKAGE).with_suffix('').parts
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = parts[: len(parts) - node.level]
            names = (node.module or '').split('.') if node.module else []
            target = [*base, *names] or [node.names[0].name]
            rooms.add(target[0])
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = node.module.split('.')
            if names[0] == 'mmcar':
                rooms.add(names[1] if len(names) > 1 else node.names[0].name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                names = alias.name.split('.')
                if names[0] == 'mmcar' and len(names) > 1:
                    rooms.add(names[1])
    return rooms


# Lines of code at most, without blank lines, comments and docstrings: what
# one person can carry. They only ever become less.
SIZES = dict(mmcar=16000, tools=2800, tests=18000)


def lines_of_code(path: Path) -> int:
    """Lines of a file that are neither blank, comment nor docstring."""
    text, documented = path.read_text(), set()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, kinds) and ast.get_docstring(node) is not None:
            first = node.body[0]
            documented |= set(range(first.lineno, first.end_lineno + 1))
    return sum(
        bool(line.strip())
        and not line.strip().startswith('#')
        and number not in documented
        for number, line in enumerate(text.split('\n'), 1)
    )


@pytest.mark.parametrize('folder', SIZES)
def test_size(folder):
    paths = list((PACKAGE.parent / folder).rglob('*.py'))
    found = sum(map(lines_of_code, paths))
    assert 0 < found <= SIZES[folder]
    for path in paths:
        widest = max(map(len, path.read_text().split('\n')))
        assert widest <= 79, path


def test_every_room_is_in_the_plan():
    found = {p.stem for p in PACKAGE.iterdir() if p.suffix in ('', '.py')}
    assert found - {'__init__', '__pycache__', '.mim'} <= RANK.keys()


def test_rooms_import_only_rooms_above_them():
    seen = 0
    for path in PACKAGE.rglob('*.py'):
        room = path.relative_to(PACKAGE).with_suffix('').parts[0]
        if room == '__init__':
            continue
        for other in imported_rooms(path) - {room, '__init__'}:
            seen += 1
            assert RANK[other] < RANK[room], f'{path} imports {other}'
            assert (room, other) not in STRANGERS, f'{path} imports {other}'
    assert seen > 50, 'the test reads imports'


def test_above_the_line_nothing_imports_mmseg():
    for room in PURE:
        path = PACKAGE / room
        paths = list(path.rglob('*.py')) if path.is_dir() else [path]
        assert paths, f'no room {room}'
        for path in paths:
            found = {name.split('.')[0] for name in imported_modules(path)}
            assert not found & {'mmseg', 'mmengine', 'mmcv'}, path


def test_neither_package_nor_tools_import_projects():
    root = PACKAGE.parent
    projects = root / 'projects'
    own = {
        p.stem for p in projects.glob('*/*') if (p / '__init__.py').exists()
    }
    own = {'projects'} | own - {'tests'}
    assert {'speed', 'benchmark'} <= own, 'the test knows projects'
    for folder in (PACKAGE, root / 'tools'):
        for path in folder.rglob('*.py'):
            found = {name.split('.')[0] for name in imported_modules(path)}
            assert not found & own, f'{path} imports {found & own}'
    used = projects / 'benchmark' / 'benchmark' / 'configs.py'
    assert 'projects.processor_time' in imported_modules(used)


def test_tests_mirror_the_rooms():
    """A test lies where its module does; only few are about several."""
    tests = Path(__file__).parent
    folders = {p.parent for p in PACKAGE.rglob('*.py')}
    for folder in folders:
        parts = folder.relative_to(PACKAGE).parts
        mirror = tests.joinpath(*(f'test_{part}' for part in parts))
        assert any(mirror.rglob('test_*.py')), f'no tests of {folder}'
    strangers = [
        path.relative_to(tests)
        for path in tests.rglob('test_*.py')
        if path.parent != tests and not _has_module(path.relative_to(tests))
    ]
    assert len(strangers) <= 9, strangers


def _has_module(test: Path) -> bool:
    *folders, name = (part.removeprefix('test_') for part in test.parts)
    if folders[0] in ('tools', 'config_check'):
        return True
    return PACKAGE.joinpath(*folders, name).is_file()
