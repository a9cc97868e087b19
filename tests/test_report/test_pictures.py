import numpy as np
from PIL import Image

from mmcar.datasets.label_files import read_label
from mmcar.report import pictures
from mmcar.report.pictures import drop_samples, encode_labels
from mmcar.structures.colours import overlay_palette


def grey(height=400, width=400, value=100):
    return np.full((height, width, 3), value, np.uint8)


def test_two_classes_tint_the_second_alone():
    label = np.zeros((400, 400), np.uint8)
    label[100:200, 100:200] = 1
    palette = overlay_palette(2)
    shown = pictures.overlay_labels(grey(), label, palette)
    assert shown[10, 10].tolist() == [100, 100, 100]
    middle = 0.55 * 100 + 0.45 * palette[1]
    np.testing.assert_allclose(shown[150, 150], middle, atol=1)
    assert shown[100, 150].tolist() == palette[1].tolist()  # the outline


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
