"""The two configs of the run, as a user would write them."""

from dataclasses import dataclass
from pathlib import Path

from mmcar.utils.files import write_file

ROOT = Path(__file__).resolve().parents[3]
CARD = ROOT / 'configs' / 'car' / 'car_deeplabv3_cityscapes24.py'
WORK_DIR = 'work_dirs/fast_scnn'

BLACK_BOX_TEXT = """\
# MMSeg's Fast-SCNN, as its config has it but for numbers of iterations.
_base_ = 'mmseg::fastscnn/fast_scnn_8xb4-160k_cityscapes-512x1024.py'
custom_imports = dict(imports=['mmcar'])  # MMSeg on an mmcv without ops
train_cfg = dict(max_iters={iters}, val_interval={never})
param_scheduler = [
    dict(type='PolyLR', eta_min=1e-4, power=0.9, end={iters}, by_epoch=False)
]
default_hooks = dict(
    checkpoint=dict(interval={save}, max_keep_ckpts=1),
    logger=dict(interval=5),
)
"""
CARD_TEXT = """\
# The card with another black box, by the three lines of
# docs/do/cityscapes24.md, and other numbers of iterations.
_base_ = '{card}'
black_box = dict(config='fast_scnn.py', checkpoint='{weights}')
model = dict(decode_head=dict(black_box=black_box))

stage_1 = dict(_base_.stage_1, iters={first})
stage_2 = dict(_base_.stage_2, iters={second})
train_cfg = dict(phases=[stage_1, stage_2], val_interval={never})
default_hooks = dict(checkpoint=dict(interval={save}), logger=dict(interval=5))
"""


@dataclass(frozen=True)
class Iterations:
    """Numbers of iterations; by default for an hour on two idle cores.

    Attributes:
        black_box: Of B.
        calibration: Of F.
        generator: Of G; D learns in the first 50 of them.
    """

    black_box: int = 600
    calibration: int = 150
    generator: int = 80

    @property
    def card(self) -> int:
        """Of F and G together."""
        return self.calibration + self.generator

    @property
    def black_box_weights(self) -> str:
        """File of B's weights."""
        return f'{WORK_DIR}/iter_{self.black_box}.pth'


def write_configs(folder: Path, iterations: Iterations) -> None:
    """Write fast_scnn.py and card.py into a folder."""
    black_box = BLACK_BOX_TEXT.format(
        iters=iterations.black_box,
        never=iterations.black_box + 1,
        save=max(iterations.black_box // 10, 1),
    )
    card = CARD_TEXT.format(
        card=CARD,
        weights=iterations.black_box_weights,
        first=iterations.calibration,
        second=iterations.generator,
        never=iterations.card + 1,
        save=max(iterations.generator // 5, 1),
    )
    write_file(folder / 'fast_scnn.py', black_box.encode())
    write_file(folder / 'card.py', card.encode())
