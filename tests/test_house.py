"""The house: a room may import the rooms above it, never those below."""

import ast
from pathlib import Path

import mmcar

PACKAGE = Path(mmcar.__file__).parent
ROOMS = [
    ('version', 'utils'),
    ('compat',),
    ('structures',),
    ('datasets',),
    ('evaluation',),
    ('models',),
    ('engine',),
    ('visualization',),
    ('config_check',),
    ('apis',),
    ('cli',),
]
RANK = {room: rank for rank, rooms in enumerate(ROOMS) for room in rooms}
# Beyond the order: neither may know the other, though one is above.
STRANGERS = {('models', 'evaluation'), ('models', 'datasets')}


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
    assert len(strangers) <= 8, strangers


def _has_module(test: Path) -> bool:
    *folders, name = (part.removeprefix('test_') for part in test.parts)
    if folders[0] == 'tools':
        return True
    return PACKAGE.joinpath(*folders, name).is_file()
