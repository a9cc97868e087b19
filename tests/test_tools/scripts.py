"""Loading a command-line tool as a module."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

TOOLS = Path(__file__).resolve().parents[2] / 'tools'


def load_script(path: str) -> ModuleType:
    """Import ``tools/<path>`` under a name of its own, siblings by theirs."""
    file = TOOLS / path
    name = f'tool_{file.stem}'
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        sys.path.insert(0, str(file.parent))
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(str(file.parent))
    return sys.modules[name]
