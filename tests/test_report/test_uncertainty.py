import itertools

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from mmcar.report import draw_uncertainty
from tests.test_report.reading import words

IMAGE = np.zeros((20, 30, 3), np.uint8)


def test_uncertainty_is_on_one_scale():
    maps = dict(one=np.full((20, 30), 0.1), other=np.full((20, 30), 0.6))
    figure = draw_uncertainty(IMAGE, maps, 4)
    shown = [a.images[0] for a in figure.axes if a.images][1:]
    assert len(shown) == 2
    assert {image.get_clim() for image in shown} == {(0, np.log(4) / 2)}
    assert 'other\nmean 0.600' in words(figure)
    certain = dict(one=np.zeros((20, 30)))
    assert draw_uncertainty(IMAGE, certain, 2).axes  # does not loop


@pytest.mark.parametrize('size', [(400, 30), (60, 30), (30, 30), (20, 200)])
def test_titles_keep_apart(size):
    maps = {
        'pixelwise probabilities': np.ones(size),
        'mean of 100 samples': np.ones(size),
    }
    figure = draw_uncertainty(np.zeros((*size, 3), np.uint8), maps, 2)
    FigureCanvasAgg(figure).draw()
    boxes = [
        one.title.get_window_extent() for one in figure.axes if one.images
    ]
    for left, right in itertools.pairwise(boxes):
        assert left.x1 < right.x0
    assert max(box.y1 for box in boxes) <= figure.bbox.y1  # not cut off
