import numpy as np

from mmcar.evaluation import Change, FlipState, Hypothesis
from mmcar.report import draw_hypotheses, overlay_palette
from tests.test_report.reading import words

IMAGE = np.zeros((20, 30, 3), np.uint8)


def hypotheses(count):
    change = Change(0, 2, 12, 0.02, (0.1, 0.1))
    return [
        Hypothesis(1 / count, (k,), k, (change,) if k else ())
        for k in range(count)
    ]


def test_hypotheses_are_named_with_their_probabilities(tmp_path):
    samples = np.zeros((16, 20, 30), np.uint8)
    samples[1, :2, :6] = 2
    state = FlipState(1, 2, 0.25, 0.5, 0.25)
    figure = draw_hypotheses(
        *(IMAGE, samples[0], samples, hypotheses(2), ('sky', 'car', 'car2')),
        overlay_palette(3),
        [state],
    )
    said = words(figure)
    assert [w for w in said if '%  (' in w] == ['50 %  (1 of 16)'] * 2
    assert 'as the decision' in said
    assert any(w.startswith('car2 instead of sky on 2.0 %') for w in said)
    assert 'car 25 %, car2 50 %, absent 25 %' in said
    assert said[-2:] == ['sky', 'car2']  # only what is seen
    figure.savefig(tmp_path / 'x.png')
    assert (tmp_path / 'x.png').stat().st_size > 1000


def test_rare_hypotheses_are_counted():
    samples = np.zeros((16, 20, 30), np.uint8)
    figure = draw_hypotheses(
        *(IMAGE, samples[0], samples, hypotheses(8), ('a', 'b', 'c')),
        overlay_palette(3),
    )
    assert '2 more, 25 % in all' in words(figure)
    assert sum(bool(a.images) for a in figure.axes) == 8
