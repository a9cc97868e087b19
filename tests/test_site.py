"""The site that `make docs` builds, in a real browser, from disk."""

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.test_report.test_page.browsing import start_browser

pytestmark = pytest.mark.browser
SITE = Path(os.environ.get('MMCAR_SITE', Path(__file__).parents[1] / 'site'))
LINKS = """return [...document.querySelectorAll('a[href]')].map(a => a.href)
    .concat([...document.images].map(i => i.src))"""
BROKEN = """return [...document.images].filter(
    i => i.complete && !i.naturalWidth).map(i => i.src)"""


@pytest.fixture(scope='module')
def driver():
    if not (SITE / 'index.html').is_file():
        pytest.skip('no site: make docs')
    driver = start_browser()
    # The embedded report is seen whole: a click scrolls its frame alone.
    driver.set_window_size(1280, 1100)
    yield driver
    driver.quit()


def errors(driver):
    return [e for e in driver.get_log('browser') if e['level'] == 'SEVERE']


def test_every_page(driver):
    """Links and pictures are there; nothing is said in the console."""
    pages = sorted(SITE.rglob('*.html'))
    assert len(pages) > 100
    for page in pages:
        driver.get(page.as_uri())
        assert not driver.execute_script(BROKEN), page
        for link in {urlsplit(x) for x in driver.execute_script(LINKS)}:
            if link.scheme == 'file':
                assert Path(unquote(link.path)).exists(), f'{page}: {link}'
        assert not errors(driver), page


def test_search(driver):
    driver.get((SITE / 'search.html').as_uri() + '?q=GumbelSampler')
    driver.implicitly_wait(30)
    assert driver.find_element('css selector', 'ul.search a').text
    assert not errors(driver)


def test_the_live_report(driver):
    driver.get((SITE / 'docs/gallery.html').as_uri())
    frame = driver.find_element('tag name', 'iframe')
    driver.execute_script('arguments[0].scrollIntoView()', frame)
    driver.switch_to.frame(frame)
    driver.implicitly_wait(30)
    driver.find_element('css selector', 'table.images tbody tr').click()
    assert driver.find_element('id', 'image-name').text.endswith('.png')
    assert not errors(driver)
