import argparse
import time

import pytest
from mmcv.transforms import BaseTransform
from mmseg.registry import TRANSFORMS

from mmcar.utils.errors import UserError
from tests.test_tools.project import loader, write_config

from ..speed import data


class Sleep(BaseTransform):
    """A slow step of a pipeline."""

    def transform(self, results):
        time.sleep(0.1)
        return results


@pytest.mark.parametrize('slow', [False, True])
def test_waiting_is_seen(tmp_path, slow):
    TRANSFORMS.register_module(name='Sleep', module=Sleep, force=True)
    loading = loader(tmp_path / 'data', 'train')
    if slow:
        loading['dataset']['pipeline'].insert(0, {'type': 'Sleep'})
    config = write_config(tmp_path, train_dataloader=loading)
    args = argparse.Namespace(
        config=str(config), iters=3, warmup=1, cfg_options=None
    )
    rows = data.run(args)
    assert [row['phase'] for row in rows] == [
        'calibration',
        'generator + discriminator',
    ]
    for row in rows:
        share = row['share waiting for data']
        assert 0 < share < 1
        waited = share * row['seconds per iteration']
        # Two images per batch, read by the training process itself.
        assert (waited > 0.2) == slow


def test_a_missing_config_is_named():
    args = argparse.Namespace(config='nowhere/mine.py', cfg_options=None)
    with pytest.raises(UserError, match=r'no config.* nowhere/mine\.py'):
        data.run(args)
