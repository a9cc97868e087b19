"""What is compared, on what, how it runs and how it is shown."""

import sys
from pathlib import Path

# For what projects share.
sys.path.append(str(Path(__file__).resolve().parents[3]))
