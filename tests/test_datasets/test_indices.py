import pytest

from mmcar.datasets.indices import check_indices
from mmcar.utils.errors import UserError


@pytest.mark.parametrize(
    'indices', [None, 0, 5, -5, [], [0, 4], [-5], range(0, 5, 2)]
)
def test_indices_of_five_images(indices):
    check_indices(indices, 5, 'data/x')


@pytest.mark.parametrize(
    ('indices', 'wanted'), [(6, 6), (-6, 6), ([1, 5], 6), ([-7, 2], 7)]
)
def test_indices_beyond_are_refused(indices, wanted):
    with pytest.raises(
        UserError, match=f'data/x: 5 images.*at least {wanted} images. Do so'
    ):
        check_indices(indices, 5, 'data/x', 'Do so')
