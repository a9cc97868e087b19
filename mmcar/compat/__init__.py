"""What today's torch and an ops-free mmcv need to run MMSegmentation.

``import mmcar`` calls `setup`, which does six things and nothing else:

1. `check_versions`: says what is missing or too old or new, and the fix.
2. `provide_mmcv_ops`: official MMSeg imports ``mmcv.ops``, which mmcv-lite
   cannot load; a stand-in takes its place and complains when *used*.
3. `find_stock_configs`: ``mmseg::`` configs are found on the forks too.
4. `find_own_configs`: so are ``mmcar::`` configs, from wheel and clone.
5. `load_checkpoints_safely`: MMEngine's checkpoints load with torch's safe
   loader, and a file that would run code is refused.
6. `let_inferencers_load_images`: ``MMSegInferencer`` takes our pipelines.
"""

from .checkpoints import load_checkpoints_safely
from .configs import find_own_configs, find_stock_configs
from .versions import (
    MissingPackageError,
    check_versions,
    let_inferencers_load_images,
    provide_mmcv_ops,
    swaps_channels,
)


def setup() -> None:
    """Apply every shim; called once when ``mmcar`` is imported."""
    check_versions()
    provide_mmcv_ops()
    find_stock_configs()
    find_own_configs()
    load_checkpoints_safely()
    let_inferencers_load_images()
