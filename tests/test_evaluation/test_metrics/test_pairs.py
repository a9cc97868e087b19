from mmcar.evaluation.functional import iou as iou_module

from ..predicted import evaluator, image


def shared_counts(monkeypatch, *settings):
    calls = []
    count = iou_module.class_ious
    monkeypatch.setattr(
        iou_module, 'class_ious', lambda *a: calls.append(1) or count(*a)
    )
    both = {'num_samples': (2, 6)}
    run = evaluator(
        {'type': 'GEDMetric', **both, **settings[0]},
        {'type': 'HMIoUMetric', **both, **settings[1]},
    )
    run.process([image(0), image(1)])
    run.evaluate(2)
    return len(calls)


def test_metrics_share_the_pairs_of_an_image(monkeypatch):
    assert shared_counts(monkeypatch, {}, {'classes': (1,)}) == 2


def test_metrics_with_other_classes_do_not(monkeypatch):
    assert shared_counts(monkeypatch, {}, {'classes': (0, 1)}) == 4
