import re
from dataclasses import replace

import numpy as np
import pytest

from mmcar.report.page import Page, draw_paper_figures, pack_image, render_page
from tests.test_evaluation.test_dataset_scores import TWO, predicted, scored

from .reading import read_html
from .test_explored_image import explored

EVIL = '</script><img src=x onerror=alert(1)>&"\''


@pytest.fixture(scope='module')
def binary():
    rows, summary = scored(predicted(), TWO)
    for i, row in enumerate(rows):
        row |= dict(image=f'val/{i}.png', entropy=0.1 * i, hypotheses=1)
    image = explored()
    image.classes = TWO['classes']
    return Page(
        title='a model',
        facts={'seed': '0'},
        num_samples=6,
        classes=TWO['classes'],
        palette=np.full((2, 3), 9, np.uint8),
        summary=summary,
        rows=rows,
        explored={1: pack_image(image, image.labels)},
    )


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
    page = replace(
        binary,
        title=EVIL,
        facts={EVIL: EVIL},
        classes=(EVIL, 'nodule'),
        rows=[dict(binary.rows[0], image=EVIL)],
        explored={0: dict(binary.explored[1], name=EVIL)},
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


def test_images_without_a_score_have_a_dash(binary):
    rows = [dict(binary.rows[0], GED=float('nan'))]
    page = replace(binary, rows=rows, explored={})
    found = read_html(render_page(page))
    assert found.data['rows'][0]['GED'] is None
    assert f'{rows[0]["image"]} – ' in found.text  # noqa: RUF001


def test_bars_and_bins_show_the_figures(binary):
    page = replace(binary, curves={'loss': ([0, 1, 2], [3.0, 2.0, 1.0])})
    figures, summary = draw_paper_figures(page), page.summary
    names = {'reliability', 'classes', 'histogram', 'bounds', 'training'}
    assert set(figures) == names
    axes = figures['bounds'].axes[0]
    widths = [bar.get_width() for bar in axes.patches]
    assert summary['scores']['GED_6'] in widths
    (first, *_), *_ = (
        c.patches for c in figures['classes'].axes[0].containers
    )
    excess = summary['classes'][0]['probabilities_excess']
    assert first.get_width() == pytest.approx(100 * excess)
