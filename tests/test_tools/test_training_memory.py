"""Activations counted on the meta device are those of a real one."""

import pytest
import torch
from mmengine.config import Config

from .project import ROOT
from .scripts import load_script

TOOL = load_script('analysis_tools/training_memory.py')


def small(name: str) -> Config:
    cfg = Config.fromfile(ROOT / 'configs' / 'car' / f'{name}.py')
    cfg.model.decode_head.generator.base_channels = 8
    return cfg


def test_kept_tensors_are_counted_once():
    """A product keeps both factors, a ReLU its result."""
    weight = torch.ones(5, 7, requires_grad=True)
    x = torch.ones(3, 5)

    def run():
        return (x @ weight).relu().square().sum()

    # x (3, 5) for the weight's gradient; relu (3, 7) for it and the square.
    assert TOOL.saved_bytes(run, iter([weight])) == 4 * (3 * 5 + 3 * 7)
    assert TOOL.saved_bytes(run, iter([])) == 4 * (3 * 5 + 3 * 7)
    both = weight.detach().clone().requires_grad_()
    assert TOOL.saved_bytes(lambda: both * both, iter([])) == 4 * 5 * 7


@pytest.mark.parametrize('name', ['car_lidc_m5', 'car_deeplabv3_cityscapes24'])
def test_meta_device_counts_as_a_real_one(name):
    cfg = small(name)
    sizes = [
        TOOL.measure(cfg, 2, 3, crop=(32, 32), device=device)
        for device in ('meta', 'cpu')
    ]
    # On a CPU a few small maps are copied to channels last.
    assert sizes[0] == pytest.approx(sizes[1], rel=0.02)
    assert min(sizes[0].values()) > 0


def test_it_grows_as_it_should():
    cfg = small('car_lidc')
    one, more, both = (
        TOOL.measure(cfg, *numbers, crop=(32, 32))
        for numbers in ((2, 2), (2, 4), (4, 4))
    )
    assert one['calibration'] == more['calibration']
    assert 1.5 < more['generator'] / one['generator'] < 2
    for name in ('calibration', 'generator', 'discriminator'):
        # Kernels that a step makes of others do not grow with the batch.
        expected = pytest.approx(2 * more[name], rel=0.04)
        assert both[name] == expected
    assert one['state'] == both['state']
    chunked = TOOL.measure(cfg, 2, 16, 2, crop=(32, 32))
    whole = TOOL.measure(cfg, 2, 16, crop=(32, 32))
    assert chunked['generator'] < whole['generator'] / 3


def test_the_table_of_lidc(capsys):
    config = str(ROOT / 'configs' / 'car' / 'car_lidc.py')
    TOOL.main([config, '--batch-size', '8', '32'])
    *_, eight, full = capsys.readouterr().out.strip().splitlines()
    assert [row.split()[0] for row in (eight, full)] == ['8', '32']
    assert 10 < float(full.split()[4]) < 11  # gigabytes of G
    with pytest.raises(SystemExit):
        TOOL.main([config, '--batch-size', '0'])
