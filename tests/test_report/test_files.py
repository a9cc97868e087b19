import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from mmcar.report.files import write_figure, write_labels


def test_ids_are_stored_exactly(tmp_path):
    for top in (255, 300):
        ids = np.array([[0, 7], [top, 1]])
        write_labels(tmp_path / 'x.png', ids)
        stored = np.array(Image.open(tmp_path / 'x.png'))
        np.testing.assert_array_equal(stored, ids)


def test_figures_have_the_size_asked_for(tmp_path):
    write_figure(tmp_path / 'a' / 'x.png', Figure((2, 1)), dpi=50)
    assert Image.open(tmp_path / 'a' / 'x.png').size == (100, 50)
