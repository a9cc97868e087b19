import numpy as np

from mmcar.visualization import draw_uncertainty
from tests.test_visualization.reading import words

IMAGE = np.zeros((20, 30, 3), np.uint8)


def test_uncertainty_is_on_one_scale():
    maps = dict(one=np.full((20, 30), 0.1), other=np.full((20, 30), 0.6))
    figure = draw_uncertainty(IMAGE, maps, 4)
    shown = [a.images[0] for a in figure.axes if a.images][1:]
    assert len(shown) == 2
    assert {image.get_clim() for image in shown} == {(0, np.log(4) / 2)}
    assert 'other, mean 0.600' in words(figure)
    certain = dict(one=np.zeros((20, 30)))
    assert draw_uncertainty(IMAGE, certain, 2).axes  # does not loop
