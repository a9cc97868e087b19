import re

import numpy as np
import pytest

from mmcar.report.page import (
    Page,
    draw_paper_figures,
    pack_image,
    render_page,
)
from mmcar.report.page.page import (
    ASSETS,
    draw_classes,
    draw_histogram,
    excess_limit,
    perspective,
    score_title,
    signed,
    thin_curves,
)
from tests.test_evaluation.predicted import FLIPS
from tests.test_evaluation.test_dataset_scores import (
    FOUR,
    TWO,
    predicted,
    scored,
)

from .reading import read_html
from .test_explored_image import explored

EVIL = '</script><img src=x onerror=alert(1)>&"\''


def page_of(samples, metainfo, **changes):
    rows, summary = scored(samples, metainfo)
    number = len(metainfo['classes'])
    for i, row in enumerate(rows):
        row |= dict(image=f'val/{i}.png', entropy=0.1 * i, hypotheses=1)
    image = explored(number)
    image.classes = metainfo['classes']
    packed = pack_image(image, image.labels)
    values = dict(
        title='a model',
        facts={'seed': '0'},
        num_samples=6,
        classes=metainfo['classes'],
        palette=np.full((number, 3), 9, np.uint8),
        summary=summary,
        rows=rows,
        explored={1: packed},
    )
    return Page(**values | changes)


@pytest.fixture(scope='module')
def binary():
    return page_of(predicted(), TWO)


def test_the_page_holds_all_figures_without_scripts(binary):
    page = read_html(render_page(binary))
    for row in binary.rows:
        assert row['image'] in page.text
        assert f'{row["GED"]:.3f}' in page.text
        assert f'{row["HM-IoU"]:.3f}' in page.text
    for scores in (
        binary.summary['scores'],
        *binary.summary['bounds'].values(),
    ):
        assert f'{scores["GED_6"]:.3f}' in page.text
    bins = binary.summary['reliability']['samples']
    for count, accuracy in zip(bins['count'], bins['accuracy'], strict=True):
        if count:
            assert f'{accuracy:.3f} {count:.0f}' in page.text
    assert '1 of 3 images can be opened' in page.text
    assert page.data['explored'] == [1] and list(page.images) == [1]


def test_the_page_needs_no_network(binary):
    text = render_page(binary)
    for _, attributes in read_html(text).tags:
        for name in ('src', 'href', 'srcset', 'action'):
            assert attributes.get(name, '#').startswith(('#', 'data:'))
    assert 'url(' not in text and '@import' not in text
    addresses = set(re.findall(r'https?://[^\s"\'<)]*', text))
    assert addresses == {'http://www.w3.org/2000/svg'}  # a name, not a place
    assert "default-src 'none'" in text


def test_names_are_text_whatever_they_hold(binary):
    row = dict(binary.rows[0], image=EVIL)
    packed = dict(binary.explored[1], name=EVIL)
    page = page_of(
        predicted(),
        dict(classes=(EVIL, 'nodule')),
        title=EVIL,
        facts={EVIL: EVIL},
        rows=[row],
        explored={0: packed},
        unreadable={EVIL: EVIL},
    )
    text = render_page(page)
    assert '<img' not in text
    found = read_html(text)
    assert found.data['rows'][0]['image'] == EVIL
    assert found.images[0]['name'] == EVIL
    assert found.data['classes'][0] == EVIL


def test_every_control_has_a_name(binary):
    page = read_html(render_page(binary))
    named = {'aria-label', 'aria-labelledby'}
    for tag, attributes in page.tags:
        if tag in ('nav', 'aside', 'section'):
            assert named & attributes.keys() or tag == 'aside'
        if tag == 'canvas':
            assert attributes['role'] == 'img'
        if tag == 'th':
            assert 'scope' in attributes
    assert ('html', {'lang': 'en'}) in page.tags


def test_class_flips_show_their_truth():
    page = page_of(predicted(k=4, annotators=1, flips=FLIPS), FOUR)
    text = read_html(render_page(page)).text
    assert 'a → a2 true 25.0 %' in text
    assert 'HM-IoU of 6 samples' not in text


def test_images_without_a_score_have_a_dash(binary):
    rows = [dict(binary.rows[0], GED=float('nan'))]
    page = page_of(predicted(), TWO, rows=rows, explored={})
    found = read_html(render_page(page))
    assert found.data['rows'][0]['GED'] is None
    assert f'{rows[0]["image"]} – ' in found.text  # noqa: RUF001


def test_every_asset_is_used(binary):
    page = (ASSETS / 'page.html').read_text()
    for path in ASSETS.iterdir():
        name = path.stem if path.suffix == '.js' else path.name
        assert path.name == 'page.html' or f"'{name}'" in page


def test_perspective_is_sorted_from_best_to_worst(binary):
    ged, hm_iou = perspective(binary.summary, 6)
    values = [row['value'] for row in ged['rows']]
    assert values == sorted(values) and len(values) == 6
    values = [row['value'] for row in hm_iou['rows']]
    assert values == sorted(values, reverse=True)
    assert perspective(dict(binary.summary, bounds={}), 6) == []


def test_small_helpers():
    assert score_title('GED_16', 16) == 'GED of 16 samples'
    assert score_title('ECE_samples', 16) == 'ECE of samples'
    assert signed(0.0512) == '+5.1 %'
    assert signed(-0.2) == '−20.0 %'  # noqa: RUF001
    assert signed(-0.00001) == '0.0 %'
    assert signed(float('nan')) == '–'  # noqa: RUF001
    nan = float('nan')
    rows = [dict(probabilities_excess=nan, samples_excess=0.2)]
    assert excess_limit(rows) == 0.2
    assert excess_limit([dict.fromkeys(rows[0], 7.0)]) == 1
    steps = np.arange(1000.0)
    curves = thin_curves(dict(flat=(steps, steps * 0), slope=(steps, steps)))
    assert list(curves) == ['slope']
    assert curves['slope'][0][::239] == [0, 999] == curves['slope'][1][::239]


def test_bars_and_bins_show_the_figures():
    curves = {'loss': ([0, 1, 2], [3.0, 2.0, 1.0])}
    page = page_of(predicted(), TWO, curves=curves)
    figures, summary = draw_paper_figures(page), page.summary
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
