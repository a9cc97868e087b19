"""Training data whose order and augmentation follow from numbers alone.

Every training sample has a position: the joint batch of iteration ``i`` over
all processes consists of positions ``i * batch ... (i + 1) * batch - 1``.
The position decides which image it is and seeds its augmentation, so training
resumes anywhere without replaying what came before, and no RNG state is ever
stored.
"""

import itertools
import random
from collections.abc import Iterator, Sequence, Sized
from typing import Any

import numpy as np
import torch
from mmengine.dist import get_dist_info
from mmseg.registry import DATA_SAMPLERS, DATASETS
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from ..utils.errors import UserError

# First entropy word of each purpose: streams of one run never coincide.
ORDER, SAMPLE, ITERATION, VALIDATION = range(4)


def derive_seed(*entropy: int) -> int:
    """Mix non-negative integers into one 63-bit seed.

    Args:
        *entropy: What the seed depends on, e.g. ``(SAMPLE, seed, position)``.

    Returns:
        The same number for the same entropy, on every machine.
    """
    state = np.random.SeedSequence(entropy).generate_state(1, np.uint64)
    return int(state[0]) >> 1


def seed_all(*entropy: int) -> None:
    """Seed ``random``, NumPy and torch from the given integers."""
    seed = derive_seed(*entropy)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    # ``torch.manual_seed`` formats a stack trace wherever CUDA is not in use,
    # data loading processes included: milliseconds per sample.
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed(seed)


REPLACED_SAMPLERS = ('InfiniteSampler', 'DefaultSampler', 'ResumableSampler')


@DATA_SAMPLERS.register_module()
class ResumableSampler(Sampler):
    """Endless sampler that starts at any position at no cost.

    Of ``W`` processes, process ``r`` takes the positions ``r, r + W, ...``:
    together they see the batches that one process with a ``W`` times larger
    batch would see.

    Args:
        dataset: The dataset to draw from.
        seed: Seed of the order.
        shuffle: Whether each pass has its own random order.

    Yields:
        ``(position, index)`` pairs, as :class:`SeededDataset` takes them.
    """

    def __init__(
        self, dataset: Sized, seed: int | None = None, shuffle: bool = True
    ) -> None:
        self.rank, self.world_size = get_dist_info()
        self.size = len(dataset)
        if self.size == 0:
            raise UserError('the training dataset is empty.')
        self.seed = seed or 0
        self.shuffle = shuffle
        self.start = 0

    def __iter__(self) -> Iterator[tuple[int, int]]:
        current = -1
        order: Sequence | Tensor = range(self.size)
        first = self.start + self.rank
        for position in itertools.count(first, self.world_size):
            number, offset = divmod(position, self.size)
            if self.shuffle and number != current:
                current, order = number, self.order(number)
            yield position, int(order[offset])

    def order(self, number: int) -> torch.Tensor:
        """Order (N,) of the images in the given pass over the dataset."""
        generator = torch.Generator()
        generator.manual_seed(derive_seed(ORDER, self.seed, number))
        return torch.randperm(self.size, generator=generator)

    def __len__(self) -> int:
        """Samples of one pass on one process."""
        return -(-self.size // self.world_size)


@DATASETS.register_module()
class SeededDataset(Dataset):
    """Seeds all random numbers of a sample from its position.

    Args:
        dataset: The dataset or its config.
        seed: Seed of the augmentation.
    """

    def __init__(self, dataset: Any, seed: int = 0) -> None:
        if isinstance(dataset, dict):
            dataset = DATASETS.build(dataset)
        self.dataset = dataset
        self.seed = seed

    def __getattr__(self, name: str) -> Any:
        if name == 'dataset':  # while it is being unpickled
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, key: tuple[int, int]) -> Any:
        position, index = key
        seed_all(SAMPLE, self.seed, position)
        return self.dataset[index]


class ResumableDataLoader:
    """A ``DataLoader`` that can be told where to begin.

    Its workers start with the first batch, not when the loop is built, so
    that they start once and at the right place.

    Args:
        dataloader: Loader of a :class:`SeededDataset` with a
            :class:`ResumableSampler`.
    """

    def __init__(self, dataloader: DataLoader) -> None:
        self.dataloader = dataloader

    def start_at(self, iteration: int, seed: int) -> None:
        """Choose the first batch and the seed; call it before iterating."""
        sampler: Any = self.dataloader.sampler
        dataset: Any = self.dataloader.dataset
        joint_batch = self.dataloader.batch_size * sampler.world_size
        sampler.start = iteration * joint_batch
        sampler.seed = dataset.seed = seed

    def __iter__(self) -> Iterator[Any]:
        yield from self.dataloader

    def __len__(self) -> int:
        return len(self.dataloader)

    def __getattr__(self, name: str) -> Any:
        if name == 'dataloader':
            raise AttributeError(name)
        return getattr(self.dataloader, name)


def resumable_config(cfg: dict) -> dict:
    """Put a resumable sampler and a seeded dataset into a loader's config.

    Args:
        cfg: Config of a training data loader.

    Returns:
        The same with its sampler and its dataset replaced.
    """
    if not isinstance(cfg, dict):
        raise UserError(f'train_dataloader={cfg!r}: expected a dict.')
    for key in ('batch_sampler', 'num_batch_per_epoch'):
        if cfg.get(key) is not None:
            raise UserError(f'train_dataloader.{key}: leave it out.')
    sampler = cfg.get('sampler') or {}
    kind = sampler.get('type', 'ResumableSampler')
    if getattr(kind, '__name__', kind) not in REPLACED_SAMPLERS:
        raise UserError(
            f'train_dataloader.sampler.type={kind!r}: expected one of '
            f'{REPLACED_SAMPLERS}; others cannot be resumed exactly.'
        )
    shuffle = sampler.get('shuffle', True)
    sampler = dict(type='ResumableSampler', shuffle=shuffle)
    dataset = dict(type='SeededDataset', dataset=cfg['dataset'])
    return dict(cfg, sampler=sampler, dataset=dataset)
