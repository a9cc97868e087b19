"""How fast parts of mmcar are, against plain versions of them."""

import sys
from pathlib import Path

# For what projects share.
sys.path.append(str(Path(__file__).resolve().parents[3]))
