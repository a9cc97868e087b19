"""Scores in two processes; needs torch alone."""

import torch

from tests.forking import Forked


def _rank(rank, folder, score):
    torch.distributed.init_process_group(
        'gloo', init_method=f'file://{folder}/init', rank=rank, world_size=2
    )
    torch.save(score(rank), f'{folder}/{rank}.pt')
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def on_two_ranks(score, folder):
    """What a function of the rank returns in each of two processes."""
    # Results are exchanged through files of the current folder.
    ranks = [Forked(_rank, r, folder, score, cwd=folder) for r in range(2)]
    for rank in ranks:
        done = rank.finish()
        assert done.returncode == 0, done.stderr
    return [torch.load(folder / f'{rank}.pt') for rank in range(2)]
