"""The best 1:1 matching of two sets: what a metric and a loss share."""

import math

import numpy as np
import scipy  # its parts are imported when they are used


def match_repeated(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Best 1:1 matching of two sets, repeated to equal size.

    Args:
        scores: Of every pair, (N, M); larger is better.

    Returns:
        Row and column of every matched pair, (lcm(N, M),) each.
    """
    size = math.lcm(*scores.shape)
    rows, columns = (np.arange(n).repeat(size // n) for n in scores.shape)
    repeated = scores[rows][:, columns]
    i, j = scipy.optimize.linear_sum_assignment(repeated, maximize=True)
    return rows[i], columns[j]
