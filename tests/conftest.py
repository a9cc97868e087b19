"""Shared fixtures: the registry scope and the place of real data."""

import os
import random
from pathlib import Path

# One thread, also in processes that tests start: sums are the same everywhere.
os.environ.setdefault('OMP_NUM_THREADS', '1')

import hypothesis
import numpy as np
import pytest
import torch
from mmengine.registry import DefaultScope, init_default_scope

import mmcar  # noqa: F401 (registers everything)

torch.set_num_threads(1)
# Machines are shared: what a case takes says nothing about the code.
hypothesis.settings.register_profile('shared', deadline=None)
hypothesis.settings.load_profile('shared')


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    # A test must not depend on which ones ran before it.
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    torch.use_deterministic_algorithms(False)  # a config may ask for them
    if item.get_closest_marker('gpu') and not torch.cuda.is_available():
        pytest.skip('no GPU here')


@pytest.fixture(autouse=True)
def mmseg_scope():
    if DefaultScope.get_current_instance() is None:
        init_default_scope('mmseg')


@pytest.fixture(scope='session')
def real_data() -> Path:
    """Folder with the sets `bubil` and `camvid`, named by MMCAR_DATA."""
    root = os.environ.get('MMCAR_DATA')
    if not root or not Path(root).is_dir():
        pytest.skip('set MMCAR_DATA to the folder of bubil/ and camvid/')
    return Path(root)
