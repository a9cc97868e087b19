import pytest

from mmcar.evaluation import GEDMetric, HMIoUMetric
from mmcar.utils.errors import UserError

NAMES = ('background', 'nodule', 'vessel')


def compared(names=NAMES, **options):
    metric = GEDMetric(**options)
    metric.dataset_meta = {'classes': names}
    return metric.how


@pytest.mark.parametrize('metric', [GEDMetric, HMIoUMetric])
def test_one_of_three_by_its_id_is_refused_before_any_image(metric):
    inherited = metric(classes=(1,), absent='one')
    with pytest.raises(UserError, match=r"vessel.*classes=\['nodule'\]"):
        inherited.dataset_meta = {'classes': NAMES}


def test_ids_that_leave_out_no_foreground():
    for ids in [(1, 2), (0, 1, 2), [2, 1]]:
        assert compared(classes=ids).classes == tuple(ids)
    two = compared(('a', 'b'), classes=(0,))
    assert two.classes == (0,)


def test_a_part_by_name():
    assert compared(classes=['vessel']).classes == (2,)
    with pytest.raises(UserError, match=r"'vesel'.*vessel"):
        compared(classes=['vesel'])
    with pytest.raises(UserError, match='nodule'):
        compared(classes=['vessel', 0])
    unknown = GEDMetric(num_classes=3, classes=['vessel'])
    with pytest.raises(UserError, match='use ids'):
        _ = unknown.how


def test_defaults():
    two, three = compared(('a', 'b')), compared()
    assert (two.ids, two.rule) == ([1], 'one')
    assert (three.ids, three.rule) == ([0, 1, 2], 'skip')


@pytest.mark.parametrize('classes', [(3,), (-1,), (1, 1), ()])
def test_classes_that_are_not_there(classes):
    with pytest.raises(UserError, match=r'classes: .*0\.\.2'):
        compared(classes=classes)


def test_number_of_classes():
    with pytest.raises(UserError, match=r'num_classes=2.*3 classes'):
        compared(num_classes=2)
    with pytest.raises(UserError, match='num_classes'):
        _ = GEDMetric().how
