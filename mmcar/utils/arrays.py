"""What users give: tensors, or NumPy arrays."""

import numpy as np
import torch
from torch import Tensor

from .errors import UserError

Maps = Tensor | np.ndarray


def as_tensor(name: str, values: Maps) -> Tensor:
    """A tensor as it is, an array as one of its own, masks as 0 and 1."""
    if isinstance(values, np.ndarray) and values.dtype.kind in 'buif':
        wide = values.dtype.kind in 'ui' and values.itemsize > 1
        kind = np.int64 if wide else values.dtype.newbyteorder('=')
        values = torch.from_numpy(np.array(values, kind, order='C'))
    if isinstance(values, Tensor) and not values.is_complex():
        return values.byte() if values.dtype == torch.bool else values
    raise UserError(
        f'{name}: expected a tensor or an array of numbers, got '
        f'{getattr(values, "dtype", type(values).__name__)}'
    )
