"""Scalings of probabilities that are fitted after training."""

import torch
from torch import Tensor

from .checks import one_of

#: What can be fitted after training; their order is part of checkpoints.
METHODS = ('temperature', 'vector', 'matrix', 'class-affine', 'dirichlet')
_MATRICES = 'matrix', 'dirichlet'


def identity_parameters(
    method: str, num_classes: int
) -> tuple[Tensor, Tensor]:
    """Weight and bias of a method that change nothing.

    Args:
        method: One of `METHODS`.
        num_classes: Number of classes K.

    Returns:
        Weight, () for a temperature, (K, K) for a matrix, also that of
        Dirichlet calibration, else (K,); bias (K,), or (0,) for a
        temperature.
    """
    one_of(METHODS, method=method)
    if method == 'temperature':
        return torch.ones(()), torch.zeros(0)
    if method in _MATRICES:
        return torch.eye(num_classes), torch.zeros(num_classes)
    return torch.ones(num_classes), torch.zeros(num_classes)


def rescale(
    log_probs: Tensor, method: str, weight: Tensor, bias: Tensor
) -> Tensor:
    """Scale log-probabilities by a method.

    They are centred first, mean zero over classes, so that what is added to
    all of them does not matter; but not for Dirichlet calibration, to which
    the log-probabilities themselves say more. Each method is linear in its
    parameters, so the cross entropy is convex in them.

    Args:
        log_probs: (N, K, ...).
        method: 'temperature': ``weight * x``; 'vector': a weight and an
            offset for each class; 'matrix': a matrix and offsets;
            'class-affine': the class that is most probable at a pixel says
            which weight scales all of the pixel's values and which offset is
            added to its own; 'dirichlet': a matrix and offsets of
            log-probabilities, for two classes beta calibration.
        weight: See `identity_parameters`.
        bias: Likewise.

    Returns:
        Log-probabilities (N, K, ...).
    """
    x = log_probs
    if method != 'dirichlet':
        x = x - x.mean(dim=1, keepdim=True)
    shape = (-1, *[1] * (x.dim() - 2))  # of one value per class
    if method == 'temperature':
        x = x * weight
    elif method == 'vector':
        x = x * weight.view(shape) + bias.view(shape)
    elif method in _MATRICES:
        x = torch.einsum('jk,nk...->nj...', weight, x) + bias.view(shape)
    else:
        best = x.argmax(dim=1, keepdim=True)
        x = (x * weight[best]).scatter_add(1, best, bias[best])
    return x.log_softmax(dim=1)
