"""What a step of training needs of a GPU's memory, measured without a GPU.

Example::

    python tools/analysis_tools/training_memory.py configs/car/car_lidc.py \
        --batch-size 16 32 --samples 5 20 --chunk 0 4

The losses of F, G and D run on PyTorch's meta device, on which tensors have
sizes but no content, and every tensor that autograd keeps for the backward
pass is counted once. Added are weights, gradients and the two averages of
Adam. Workspaces of cuDNN and the CUDA context (about 0.5 GB) come on top;
mixed precision takes about half of the activations. A black box does not
count: its predictions are read from a cache.

--chunk is model.train_cfg.samples_per_chunk, 0 for all samples at once. Chunks
need a G without batch norm: such rows have group norm in its place.
"""

import argparse
import copy
from collections.abc import Callable, Iterable
from itertools import product

import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmengine.structures import PixelData
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from mmcar import cli
from mmcar.compat.configs import read_config
from mmcar.engine.network_hooks import r1_penalty
from mmcar.utils.errors import UserError

MB = 2**20
ADAM = 4  # weights, gradients and two averages


def parse_args(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument('config')
    parser.add_argument('--batch-size', type=int, nargs='+', default=[])
    parser.add_argument('--samples', type=int, nargs='+', default=[])
    parser.add_argument('--chunk', type=int, nargs='+', default=[0])
    parser.add_argument(
        '--crop', type=int, nargs=2, default=[128, 128], metavar=('H', 'W')
    )
    parser.add_argument('--debug', action='store_true')
    args = parser.parse_args(argv)
    numbers = [*args.batch_size, *args.samples, *args.crop]
    if min(numbers) < 1 or min(args.chunk) < 0:
        parser.error('expected positive numbers; --chunk may be 0')
    return args


def saved_bytes(run: Callable[[], object], known: Iterable[Tensor]) -> int:
    """Bytes that autograd keeps for the backward pass of a computation.

    Args:
        run: The computation.
        known: Tensors that are there anyway, e.g. weights.
    """
    own = {tensor.untyped_storage()._cdata for tensor in known}
    kept: dict[int, torch.UntypedStorage] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            kept[storage._cdata] = storage  # held, so that no other has its id
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        result = run()
    del result
    return sum(storage.nbytes() for storage in kept.values())


def build(cfg: Config, samples: int, chunk: int, device: str) -> nn.Module:
    """The model of a config, without the weights of a black box."""
    model = copy.deepcopy(cfg.model)
    head = model.decode_head
    if head.get('black_box') is not None:
        head.black_box = dict(type='CachedBlackBox', num_classes=19)
    model.train_cfg.num_samples = samples
    model.train_cfg.samples_per_chunk = chunk or None
    return MODELS.build(model).to(device).train()


def blank_batch(model: nn.Module, number: int, crop: list[int]) -> object:
    """A batch as training makes it, all of class 0."""
    device = next(model.parameters()).device
    samples = []
    for i in range(number):
        sample = SegDataSample(metainfo=dict(sample_key=str(i)))
        label = torch.zeros(1, *crop, dtype=torch.long, device=device)
        sample.gt_sem_seg = PixelData(data=label)
        probs = torch.full((19, *crop), 1 / 19, device=device)
        sample.black_box_probs = PixelData(data=probs)
        samples.append(sample)
    images = torch.zeros(number, 3, *crop, device=device)
    return model.train_batch(images, samples, (0, 0))


def measure(
    cfg: Config,
    batch_size: int,
    samples: int,
    chunk: int = 0,
    crop: tuple[int, int] = (128, 128),
    device: str = 'meta',
) -> dict[str, float]:
    """Megabytes of activations by network, and of weights and optimisers."""
    if chunk and cfg.model.decode_head.generator.get('norm_cfg'):
        cfg = copy.deepcopy(cfg)
        group_norm = dict(type='GN', num_groups=8)
        cfg.model.decode_head.generator.norm_cfg = group_norm
    chunk = 0 if chunk >= samples else chunk
    model = build(cfg, samples, chunk, device)
    batch = blank_batch(model, batch_size, crop)
    if model.discriminator is not None:
        model.discriminator_regularizers.append(
            lambda *inputs: dict(loss_r1=r1_penalty(*inputs))
        )
    found = {}
    for name in model.networks():
        known = (*model.parameters(), *model.buffers())
        found[name] = saved_bytes(lambda n=name: model.losses(n, batch), known)
    if chunk and 'generator' in found:
        # What is kept between chunks, and one chunk that is computed again.
        part = build(cfg, chunk, 0, device)
        inner = blank_batch(part, batch_size, crop)
        known = (*part.parameters(), *part.buffers())
        found['generator'] += saved_bytes(
            lambda: part.losses('generator', inner), known
        )
    state = sum(p.nbytes for p in model.parameters() if p.requires_grad)
    sizes = {name: size / MB for name, size in found.items()}
    return sizes | {'state': ADAM * state / MB}


def rows_of(cfg: Config, args: argparse.Namespace) -> list[list[str]]:
    """The table, head first."""
    batches = args.batch_size or [cfg.train_dataloader.batch_size]
    numbers = args.samples or [cfg.model.train_cfg.num_samples]
    names = dict(calibration='F', generator='G', discriminator='D')
    rows = []
    for batch, number, chunk in product(batches, numbers, args.chunk):
        found = measure(cfg, batch, number, chunk, args.crop)
        cells = [f'{found.get(name, 0) / 1024:.2f}' for name in names]
        most = max(found[name] for name in names if name in found)
        cells.append(f'{found["state"] / 1024:.2f}')
        cells.append(f'{(most + found["state"]) / 1024:.1f}')
        rows.append([str(batch), str(number), str(chunk or 'all'), *cells])
    heads = [f'{short}, GB' for short in names.values()]
    first = ['batch', 'M', 'chunk', *heads, 'weights, Adam, GB', 'total, GB']
    return [first, *rows]


def main(argv: list[str] | None = None) -> None:
    """Measure, and print the table."""
    args = parse_args(argv)
    cfg = read_config(args.config)
    if 'train_cfg' not in cfg.model:
        raise UserError(f'{args.config}: no model.train_cfg to vary M in.')
    init_default_scope('mmseg')
    print(cli.format_table(rows_of(cfg, args)))


if __name__ == '__main__':
    cli.run_tool(main)
