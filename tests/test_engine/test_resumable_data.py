import itertools
import random

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from mmcar.engine.resumable_data import (
    ResumableDataLoader,
    ResumableSampler,
    SeededDataset,
    resumable_config,
)


class Noisy(torch.utils.data.Dataset):
    """Samples that show index and the state of every random generator."""

    def __len__(self):
        return 7

    def __getitem__(self, index):
        return torch.tensor(
            [index, random.random(), np.random.rand(), float(torch.rand(()))],
            dtype=torch.float64,
        )


def take(sampler, count):
    return list(itertools.islice(iter(sampler), count))


def test_each_pass_visits_every_image_in_another_order():
    pairs = take(ResumableSampler(Noisy(), seed=3), 21)
    assert [position for position, _ in pairs] == list(range(21))
    passes = [[i for _, i in pairs[n : n + 7]] for n in (0, 7, 14)]
    assert all(sorted(order) == list(range(7)) for order in passes)
    assert passes[0] != passes[1] != passes[2]
    assert take(ResumableSampler(Noisy(), seed=4), 7) != pairs[:7]


def test_starts_anywhere_and_far_away():
    whole = take(ResumableSampler(Noisy(), seed=3), 40)
    late = ResumableSampler(Noisy(), seed=3)
    late.start = 19
    assert take(late, 21) == whole[19:]
    late.start = 10**12  # at once: nothing before it is computed
    assert take(late, 1)[0][0] == 10**12


def test_ranks_together_see_the_batches_of_one(monkeypatch):
    world_size = 3
    alone = take(ResumableSampler(Noisy(), seed=3), 24)
    ranks = []
    for rank in range(world_size):
        monkeypatch.setattr(
            'mmcar.engine.resumable_data.get_dist_info',
            lambda rank=rank: (rank, world_size),
        )
        ranks.append(take(ResumableSampler(Noisy(), seed=3), 24 // world_size))
    batch = 4  # per rank
    for n in range(24 // (batch * world_size)):
        joint = alone[n * batch * world_size :][: batch * world_size]
        parts = [rank[n * batch : (n + 1) * batch] for rank in ranks]
        assert sorted(itertools.chain(*parts)) == sorted(joint)


def loader(workers, start=0, seed=5):
    dataset = SeededDataset(Noisy())
    sampler = ResumableSampler(dataset)
    built = ResumableDataLoader(
        DataLoader(dataset, 2, sampler=sampler, num_workers=workers)
    )
    built.start_at(start, seed)
    return built


def test_augmentation_depends_on_seed_and_position_only():
    whole = list(itertools.islice(iter(loader(0)), 10))
    torch.manual_seed(99)
    late = list(itertools.islice(iter(loader(0, start=6)), 4))
    workers = list(itertools.islice(iter(loader(2, start=6)), 4))
    assert torch.equal(torch.stack(whole[6:]), torch.stack(late))
    assert torch.equal(torch.stack(whole[6:]), torch.stack(workers))
    other = list(itertools.islice(iter(loader(0, seed=6)), 1))
    assert not torch.equal(whole[0], other[0])
    noise = torch.cat(whole)[:, 1:].flatten()
    assert len(noise.unique()) == len(noise)


def test_workers_wait_for_the_first_batch():
    built = loader(0)
    iterator = iter(built)
    built.start_at(6, 5)
    whole = list(itertools.islice(iter(loader(0)), 7))
    assert torch.equal(next(iterator), whole[6])
    assert len(built) == 4
    assert built.batch_size == 2


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (dict(sampler=dict(type='Odd')), r"sampler.type='Odd'"),
        (dict(batch_sampler=dict(type='A')), 'train_dataloader.batch_sampler'),
        (dict(num_batch_per_epoch=3), 'num_batch_per_epoch'),
    ],
)
def test_refuses_what_it_cannot_resume(change, message):
    with pytest.raises(ValueError, match=message):
        resumable_config(dict(batch_size=1, dataset=dict(type='X')) | change)
    with pytest.raises(ValueError, match='empty'):
        ResumableSampler([])
