import numpy as np
import pytest

from mmcar.report import overlays


def grey(height=400, width=400, value=100):
    return np.full((height, width, 3), value, np.uint8)


def test_two_classes_tint_the_second_alone():
    label = np.zeros((400, 400), np.uint8)
    label[100:200, 100:200] = 1
    palette = overlays.overlay_palette(2)
    shown = overlays.overlay_labels(grey(), label, palette, opacity=0.5)
    assert shown[10, 10].tolist() == [100, 100, 100]
    middle = 0.5 * 100 + 0.5 * palette[1]
    np.testing.assert_allclose(shown[150, 150], middle, atol=1)
    assert shown[100, 150].tolist() == palette[1].tolist()  # the outline


def test_many_classes_tint_all():
    label = np.zeros((400, 400), np.uint8)
    label[:, 200:] = 2
    palette = np.array([[200, 0, 0], [0, 200, 0], [0, 0, 200]], np.uint8)
    shown = overlays.overlay_labels(grey(), label, palette, opacity=0.25)
    assert shown[10, 10].tolist() == [125, 75, 75]
    assert shown[10, 390].tolist() == [75, 75, 125]


def test_small_images_are_enlarged():
    label = np.eye(32, dtype=np.uint8)
    palette = overlays.overlay_palette(2)
    shown = overlays.overlay_labels(grey(32, 32), label, palette)
    assert shown.shape == (384, 384, 3)
    large = overlays.overlay_labels(grey(), np.zeros((400, 400), int), palette)
    assert large.shape == (400, 400, 3)


def test_a_map_of_another_size_is_refused():
    with pytest.raises(ValueError, match='one size'):
        overlays.overlay_labels(
            grey(), np.zeros((200, 200), int), overlays.overlay_palette(2)
        )


def test_palettes():
    own = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert overlays.overlay_palette(3, own).tolist() == own
    assert overlays.overlay_palette(2, [[0] * 3, [255] * 3])[1].tolist() == [
        *(230, 159, 0)
    ]
    for number in (24, 150, 300):
        palette = overlays.overlay_palette(number).tolist()
        assert len({*map(tuple, palette)}) == number
    assert len(overlays.overlay_palette(5, own)) == 5
