import pytest

from mmcar.report import draw_reliability


def test_shows_filled_bins_and_ece():
    figure = draw_reliability([0.0, 0.6, 0.9], [0.0, 0.5, 1.0], [0, 30, 10])
    upper = figure.axes[0]
    model = upper.get_lines()[1]
    assert model.get_xdata().tolist() == [0.6, 0.9]
    assert model.get_ydata().tolist() == [0.5, 1.0]
    # 3/4 * 0.1 + 1/4 * 0.1
    assert upper.get_title() == 'Reliability: ECE 10.00 %'


def test_bad_input():
    with pytest.raises(ValueError, match='empty'):
        draw_reliability([0.5], [0.5], [0])


def test_one_bin_is_drawn_without_complaint(recwarn):
    """All pixels alike, as of a net that has not learnt."""
    figure = draw_reliability([0.1, 0], [0.2, 0], [5, 0])
    assert figure.axes[1].get_ylim() == (0.1, 1)
    assert not recwarn.list
