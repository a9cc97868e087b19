"""What sampling costs, measured."""

import sys

import pytest
import torch

from ..benchmark.cost import sampling_cost

MB = 48


class Greedy(torch.nn.Module):
    """Takes so much memory for a moment, in pieces as nets do."""

    def __init__(self):
        super().__init__()
        self.test_cfg = {}

    def test_step(self, batch):
        return sum(part.sum() for part in taken())


def taken():
    return [torch.ones(2**18) for _ in range(MB)]  # a megabyte each


@pytest.mark.skipif(sys.platform != 'linux', reason='asks the kernel')
def test_memory_that_was_freed_before_counts_as_well():
    taken()  # from now on, pieces of this size come from the heap
    before, top = [taken(), taken()], torch.ones(100)
    del before  # below what is still in use: the kernel does not get it back
    found = sampling_cost(Greedy(), [dict(inputs=0)] * 3)
    assert MB * 0.9 < found['sample_mb'] < MB * 1.5
    assert found['sample_seconds'] > 0
    assert top.sum() == 100
