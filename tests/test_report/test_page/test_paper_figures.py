import pytest

from mmcar.report.page import draw_paper_figures
from mmcar.report.page.paper_figures import draw_classes, draw_histogram
from tests.test_evaluation.test_dataset_scores import TWO, predicted, scored


def test_bars_and_bins_show_the_figures():
    rows, summary = scored(predicted(), TWO)
    curves = {'loss': ([0, 1, 2], [3.0, 2.0, 1.0])}
    figures = draw_paper_figures(summary, rows, 6, curves)
    assert set(figures) == {
        *('reliability', 'classes', 'histogram', 'bounds', 'training'),
    }
    axes = figures['bounds'].axes[0]
    widths = [bar.get_width() for bar in axes.patches]
    assert summary['scores']['GED_6'] in widths
    (first, *_), *_ = (
        c.patches for c in figures['classes'].axes[0].containers
    )
    excess = summary['classes'][0]['probabilities_excess']
    assert first.get_width() == pytest.approx(100 * excess)


def test_a_class_that_nobody_drew_and_scores_that_are_missing():
    nan = float('nan')
    row = dict(name='x', probabilities_excess=nan, samples_excess=nan)
    draw_classes([row]).savefig('/dev/null', format='png')
    figure = draw_histogram([0.5, nan, 0.7], 'GED')
    counts = [bar.get_height() for bar in figure.axes[0].patches]
    assert sum(counts) == 2
