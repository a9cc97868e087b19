"""Loading a command-line tool as a module."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

TOOLS = Path(__file__).resolve().parents[2] / 'tools'


def load_script(path: str) -> ModuleType:
    """Import ``tools/<path>`` under a name of its own."""
    file = TOOLS / path
    name = f'tool_{file.stem}'
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]
