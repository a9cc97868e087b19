import pytest

from mmcar.models.segmentors.settings import complete_test_cfg


def test_windows_become_pairs():
    given = dict(mode='slide', crop_size=8, stride=[4, 6])
    cfg = complete_test_cfg(given, 2)
    assert (cfg['crop_size'], cfg['stride']) == ((8, 8), (4, 6))


@pytest.mark.parametrize(
    ('cfg', 'words'),
    [
        (dict(sead=1), "sead is unknown.*'seed'"),
        (dict(num_samples=2.0), 'test_cfg.num_samples=2.0'),
        (dict(samples_per_chunk=0), 'test_cfg.samples_per_chunk=0'),
        (dict(mode='slide', stride=4), 'test_cfg.crop_size=None'),
        (dict(mode='slide', crop_size=8, stride=(4, 0)), 'test_cfg.stride'),
        (dict(mode='slide', crop_size=(8, 4), stride=(8, 5)), 'leaves gaps'),
        (dict(crop_size=8), 'crop_size'),
        (dict(max_class_area=(1.0, -0.1)), 'max_class_area'),
    ],
)
def test_refuses(cfg, words):
    with pytest.raises(ValueError, match=words):
        complete_test_cfg(cfg, 2)
