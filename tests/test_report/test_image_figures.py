import numpy as np
import torch

from mmcar.evaluation import Change, FlipState, Hypothesis, contour_boxplot
from mmcar.report import (
    draw_contour_boxplot,
    draw_hypotheses,
    draw_uncertainty,
)
from mmcar.structures.colours import overlay_palette


def words(figure):
    axes = [a.get_title() for a in figure.axes]
    axes += [t.get_text() for a in figure.axes for t in a.texts]
    legends = [
        t.get_text()
        for e in figure.legends
        for t in (e.get_title(), *e.get_texts())
    ]
    return [*axes, *(t.get_text() for t in figure.texts), *legends]


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


def test_uncertainty_is_on_one_scale():
    maps = dict(one=np.full((20, 30), 0.1), other=np.full((20, 30), 0.6))
    figure = draw_uncertainty(IMAGE, maps, 4)
    shown = [a.images[0] for a in figure.axes if a.images][1:]
    assert len(shown) == 2
    assert {image.get_clim() for image in shown} == {(0, np.log(4) / 2)}
    assert 'other\nmean 0.600' in words(figure)
    certain = dict(one=np.zeros((20, 30)))
    assert draw_uncertainty(IMAGE, certain, 2).axes  # does not loop


MISSING = 'cell: 9 outlines, none in 7 samples', 'median'


def test_contour_boxplot_names_its_parts(tmp_path):
    masks = torch.zeros(16, 20, 30, dtype=torch.bool)
    for k in range(15):
        masks[k, 4 : 10 + k % 3, 4:14] = True
    masks[15, 16:, 24:] = True
    for drawn, title, legend in (
        (masks, 'cell: 16 outlines', '1 outlier'),
        (masks & (torch.arange(16) < 9)[:, None, None], *MISSING),
        (masks & False, 'cell: 0 outlines', 'median: nothing outlined'),
    ):
        box = contour_boxplot(drawn)
        figure = draw_contour_boxplot(IMAGE, drawn.numpy(), box, 'cell')
        said = words(figure)
        assert any(one.startswith(title) for one in said)
        assert legend in said and 'envelope' in said
        figure.savefig(tmp_path / 'x.png')
