"""Which version of the code made a result."""

import subprocess
from pathlib import Path


def current_commit(folder: Path) -> str | None:
    """Commit that a checkout is at; None where git cannot say."""
    try:
        result = subprocess.run(
            ['git', '-C', str(folder), 'rev-parse', 'HEAD'],
            capture_output=True,
            text=True,
        )
    except FileNotFoundError:  # no git
        return None
    return result.stdout.strip() or None
