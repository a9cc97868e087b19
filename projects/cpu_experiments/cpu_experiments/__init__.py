"""The CPU experiments: what runs, how it runs, and the tables of results."""

import sys
from pathlib import Path

# For what projects share.
sys.path.append(str(Path(__file__).resolve().parents[3]))
