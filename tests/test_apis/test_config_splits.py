import pytest
from mmengine.config import Config

from mmcar.apis.config_parts import parts_of
from mmcar.apis.config_splits import check_splits
from mmcar.utils.errors import UserError


def check(train, test):
    loaders = {
        f'{split}_dataloader': dict(
            dataset=dict(
                {'type': 'MultiAnnotatorDataset', **settings},
                data_prefix=dict(img_path='x'),
            )
        )
        for split, settings in (('train', train), ('test', test))
    }
    check_splits(list(parts_of(Config(loaders))))


@pytest.mark.parametrize(
    'train, test, name',
    [
        (
            dict(metainfo=dict(classes=('a', 'b'))),
            dict(metainfo=dict(classes=('b', 'a'))),
            'metainfo.classes',
        ),
        (dict(label_map={255: 1}), dict(), 'label_map'),
        (dict(), dict(label_map={255: 1}), 'label_map'),
    ],
)
def test_ids_of_different_meaning(train, test, name):
    with pytest.raises(UserError, match=f'test_dataloader.dataset.{name}='):
        check(train, test)


def test_ids_of_one_meaning():
    check(
        dict(metainfo=dict(classes=('a', 'b')), label_map={255: 1}),
        dict(metainfo=dict(classes=['a', 'b']), label_map={255: 1}),
    )


def test_other_data_may_have_other_names():
    check(
        dict(metainfo=dict(classes=('a', 'b'))),
        dict(type='LIDCDataset', metainfo=dict(classes=('c', 'd'))),
    )
