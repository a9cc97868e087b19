import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from mmcar.datasets.label_files import read_label
from mmcar.report.files import drop_samples, encode_labels, write_figure


def test_ids_are_stored_exactly_and_shown_in_colours(tmp_path):
    path = tmp_path / 'x.png'
    colours = np.random.default_rng(0).integers(0, 256, (301, 3), np.uint8)
    for top in (2, 255, 300):
        ids = np.array([[0, 1], [top, 1]])
        path.write_bytes(encode_labels(ids, colours[: top + 1]))
        image = Image.open(path)
        np.testing.assert_array_equal(np.array(image), ids)
        if top < 256:
            np.testing.assert_array_equal(read_label(str(path)), ids)
            np.testing.assert_array_equal(image.convert('RGB'), colours[ids])


def test_samples_of_another_run_go_and_nothing_else(tmp_path):
    for name in ('002.png', '003.png', '1000.png', 'x003.png', '003.txt'):
        (tmp_path / name).touch()
    drop_samples(tmp_path, 3)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ['002.png', '003.txt', 'x003.png']
    drop_samples(tmp_path / 'nowhere', 0)


def test_figures_have_the_size_asked_for(tmp_path):
    write_figure(tmp_path / 'a' / 'x.png', Figure((2, 1)), dpi=50)
    assert Image.open(tmp_path / 'a' / 'x.png').size == (100, 50)
