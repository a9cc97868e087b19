import pytest

from ..predicted import FLIPS, evaluator, image

HM_IOU = {'type': 'HMIoUMetric', 'num_samples': (2, 6)}


def test_annotators_who_labelled_nothing_are_not_matched():
    plain, more, nobody = image(0), image(0, annotators=5), image(1)
    more.gt_sem_segs.data[:3] = plain.gt_sem_segs.data
    more.gt_sem_segs.data[3:] = 255
    nobody.gt_sem_segs.data[:] = 255
    scores = []
    for images in ([plain], [more], [more, nobody]):
        run = evaluator(HM_IOU)
        run.process(images)
        scores.append(run.evaluate(len(images)))
    for key in ('HM-IoU_2', 'HM-IoU_6', 'D_max_2', 'D_max_6'):
        assert scores[0][key] == scores[1][key] == scores[2][key]
        assert [s[f'{key}_left_out'] for s in scores] == [0, 0, 1]
    assert [s['HM-IoU_labels_left_out'] for s in scores] == [0, 2, 5]


def test_class_flips_are_refused():
    run = evaluator(HM_IOU, classes=('a', 'b', 'c', 'd'))
    with pytest.raises(ValueError, match='GEDMetric'):
        run.process([image(0, 4, 1, flips=FLIPS)])
