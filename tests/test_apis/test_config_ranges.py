import pytest

from mmcar.apis.config_ranges import check_range
from mmcar.utils.errors import UserError

NAN, INF = float('nan'), float('inf')


@pytest.mark.parametrize(
    'key, value',
    [
        ('num_samples', 0),
        ('num_samples', 2.5),
        ('num_samples', True),
        ('num_samples', '16'),
        ('train_samples', [4, 0]),
        ('base_channels', -4),
        ('base_channels', 10**7),
        ('num_workers', 10**6),
        ('crop_size', (0, 16)),
        ('milestones', [-1]),
        ('prob', 1.5),
        ('dropout', -0.1),
        ('dropout_ratio', 10),
        ('betas', (0.9, 1.1)),
        ('lr', 0),
        ('lr', -1e-3),
        ('lr', 1000.0),
        ('lr', '1e-3'),
        ('std', [1.0, 0.0]),
        ('interval', 0),
        ('scales', [16, 0]),
        ('size', {'height': 16}),
        ('loss_weight', {'value': 1.0}),
        ('floor', -0.1),
        ('anything', -1),
        ('anything', NAN),
        ('loss_weight', INF),
        ('mean', [NAN]),
    ],
)
def test_no_setting_of_this_name_has_this_value(key, value):
    with pytest.raises(UserError, match=f'^a.{key}='):
        check_range(f'a.{key}', key, value)


@pytest.mark.parametrize(
    'key, value',
    [
        ('num_samples', (1, 16)),
        ('num_convs', 0),
        ('num_workers', 0),
        ('interval', -1),
        ('begin', 'phase'),
        ('frozen_stages', -1),
        ('in_index', -1),
        ('indices', -5),
        ('mean', [-600.0]),
        ('low', -1000),
        ('norm_type', INF),
        ('dropout_ratio', -1),
        ('max_keep_ckpts', -1),
        ('scale', (2048, -1)),
        ('prob', [0.5, 0.5]),
        ('dropout', dict(type='Dropout')),
        ('lr', 1e-6),
        ('class_weight', [0.0, 3.0]),
        ('depth', None),
        ('shuffle', True),
    ],
)
def test_settings_in_use(key, value):
    check_range(f'a.{key}', key, value)
