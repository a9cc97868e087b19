"""Make a small checkpoint to hand on: weights and class names alone.

Example::

    python tools/misc/publish_model.py work_dirs/mine/iter_1700.pth my_model

Optimisers, logs, raw weights beside averaged ones and the config, which names
folders of your machine, are left out. Weights are stored as float16 (biases,
norms and calibration stay as they are) and computed with as float32. The name
ends in the first digits of the file's SHA-256, as is the custom of OpenMMLab.
"""

import argparse
import hashlib
import io
from pathlib import Path

import torch
from mmengine.runner.checkpoint import CheckpointLoader
from torch import Tensor

from mmcar import cli
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_file

META = ('dataset_meta', 'calibration', 'mmengine_version', 'iter', 'epoch')


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument('checkpoint', help='checkpoint of a training')
    parser.add_argument(
        'out', type=Path, help='path of the new one, without hash and .pth'
    )
    parser.add_argument(
        '--full', action='store_true', help='keep the precision of weights'
    )
    cli.add_console_arguments(parser)
    return parser.parse_args()


def halve(name: str, weight: Tensor) -> Tensor:
    """A weight as float16; what has one dimension stays.

    Args:
        name: Named if float16 cannot hold it.
        weight: Any tensor of a state dict.
    """
    if not weight.is_floating_point() or weight.ndim < 2:
        return weight
    half = weight.half()
    if not half.isfinite().all():
        raise UserError(
            f'{name}: {weight.abs().max():.3g} is too large for float16, or '
            'not finite; --full keeps it.'
        )
    return half


def publish(checkpoint: str, out: Path, full: bool) -> Path:
    """Write the new checkpoint and return its path."""
    loaded = CheckpointLoader.load_checkpoint(checkpoint, 'cpu', None)
    if 'state_dict' not in loaded:
        raise UserError(
            f'{checkpoint}: expected the state_dict of a model in it, found '
            f'{", ".join(map(str, list(loaded)[:5]))}.'
        )
    weights = {
        # A copy: views would bring along all they are a part of.
        name: (weight if full else halve(name, weight)).clone()
        for name, weight in loaded['state_dict'].items()
    }
    meta = loaded.get('meta', {})
    kept = {key: meta[key] for key in META if key in meta}
    buffer = io.BytesIO()
    torch.save(dict(meta=kept, state_dict=weights), buffer)
    data = buffer.getvalue()
    digits = hashlib.sha256(data).hexdigest()[:8]
    path = out.with_name(f'{out.name.removesuffix(".pth")}-{digits}.pth')
    write_file(path, data)
    return path


def main() -> None:
    """Publish."""
    args = parse_args()
    path = publish(args.checkpoint, args.out, args.full)
    print(f'{path}: {path.stat().st_size / 1e6:.2f} MB')


if __name__ == '__main__':
    cli.run_tool(main)
