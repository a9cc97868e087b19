"""What 16 samples of an image cost."""

import ctypes
import gc
import statistics
import time
from pathlib import Path
from typing import Any

import torch

IMAGES = 8
SAMPLES = 16


def sampling_cost(model: torch.nn.Module, dataset: Any) -> dict[str, float]:
    """Processor time and memory of drawing 16 samples of one image.

    Args:
        model: The model; its number of samples is changed.
        dataset: Images to predict, one at a time.

    Returns:
        ``sample_seconds``, the median over a few images, and ``sample_mb``,
        the most that prediction adds to the memory of the process (Linux
        only).
    """
    model.test_cfg['num_samples'] = SAMPLES
    batches = []
    for i in range(min(IMAGES, len(dataset))):
        item = dataset[i]
        batches.append({key: [value] for key, value in item.items()})
    seconds = []
    with torch.no_grad():
        model.test_step(batches[0])
        before = _forget_peak()
        for batch in batches:
            start = time.process_time()
            model.test_step(batch)
            seconds.append(time.process_time() - start)
    peak = _status('VmHWM')
    report = dict(sample_seconds=statistics.median(seconds))
    if before is not None and peak is not None:
        report['sample_mb'] = peak - before
    return report


def _forget_peak() -> float | None:
    """Reset the kernel's record of the peak; the megabytes now.

    What was freed goes back first: used again, it would add nothing.
    """
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path('/proc/self/clear_refs').write_text('5')
    except (OSError, AttributeError):  # not Linux, or not allowed
        return None
    return _status('VmRSS')


def _status(key: str) -> float | None:
    try:
        lines = Path('/proc/self/status').read_text().splitlines()
    except OSError:  # not Linux
        return None
    found = next(line for line in lines if line.startswith(f'{key}:'))
    return int(found.split()[1]) / 1024
