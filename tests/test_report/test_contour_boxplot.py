import numpy as np
import torch

from mmcar.evaluation import contour_boxplot
from mmcar.report import draw_contour_boxplot
from mmcar.report.contour_boxplot import zoom
from tests.test_report.reading import words

IMAGE = np.zeros((20, 30, 3), np.uint8)


def test_contour_boxplot_names_its_parts(tmp_path):
    masks = torch.zeros(16, 20, 30, dtype=torch.bool)
    for k in range(15):
        masks[k, 4 : 10 + k % 3, 4:14] = True
    masks[15, 16:, 24:] = True
    box = contour_boxplot(masks)
    figure = draw_contour_boxplot(IMAGE, masks.numpy(), box, 'cell')
    said = words(figure)
    assert 'cell: 16 outlines' in said
    assert said[-4:] == ['median', '50 % band', 'envelope', '1 outlier']
    figure.savefig(tmp_path / 'x.png')


def test_samples_without_an_outline_are_counted_apart():
    masks = torch.zeros(16, 20, 30, dtype=torch.bool)
    masks[:9, 4:10, 4:14] = True
    box = contour_boxplot(masks)
    figure = draw_contour_boxplot(IMAGE, masks.numpy(), box, 'cell')
    assert 'cell: 9 outlines, none in 7 samples' in words(figure)


def test_contour_boxplot_of_nothing():
    masks = torch.zeros(4, 20, 30, dtype=torch.bool)
    box = contour_boxplot(masks)
    figure = draw_contour_boxplot(IMAGE, masks.numpy(), box, 'cell')
    assert 'median: nothing outlined' in words(figure)


def test_zoom_keeps_object_and_proportions():
    mask = np.zeros((128, 256), bool)
    assert zoom(mask) == ((0, 128), (0, 256))
    mask[120:126, 4:20] = True
    (top, bottom), (left, right) = zoom(mask)
    assert top <= 120 < 126 <= bottom <= 128
    assert 0 <= left <= 4 < 20 <= right
    assert (bottom - top, right - left) == (32, 64)
