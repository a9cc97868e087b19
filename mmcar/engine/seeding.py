"""Seeds derived from numbers alone, so that no RNG state is ever stored."""

import random

import numpy as np
import torch

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
