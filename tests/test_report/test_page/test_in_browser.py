"""The report as a reader uses it, in a real browser."""

import re
from operator import itemgetter

import numpy as np
import pytest

from mmcar.apis import build_report
from tests.test_apis.report_project import (
    known_distribution,
    report_config,
    write_cells,
)
from tests.test_tools.project import loader

from .browsing import Visit, start_browser
from .reading import read_page
from .unpacking import unpack, unpack_maps

pytestmark = pytest.mark.browser
SIZE = (24, 32)
RING = (12, 18)  # between the smallest and the largest disc of image 0


@pytest.fixture(scope='module')
def driver():
    driver = start_browser()
    yield driver
    driver.quit()


@pytest.fixture(scope='module')
def cells_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp('cells')
    write_cells(folder / 'data')
    log = folder / 'work' / '1' / 'vis_data' / 'scalars.json'
    log.parent.mkdir(parents=True)
    log.write_text('{"loss": 2, "step": 1}\n{"loss": 1, "step": 2}\n')
    return build_report(
        report_config(folder),
        out=folder / 'report.html',
        num_samples=16,
        max_images=4,
        work_dir=folder / 'work',
    ).html


@pytest.fixture(scope='module')
def flips_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp('flips')
    write_cells(folder / 'data', images=2, annotators=1)
    data = loader(folder / 'data', 'val')
    data['dataset']['metainfo'] = dict(
        classes=('ground', 'cell', 'cell2', 'never'),
        class_flips=((1, 2, 0.25),),
    )
    cfg = report_config(
        folder, model=known_distribution(4), test_dataloader=data
    )
    out = folder / 'report.html'
    return build_report(cfg, out=out, num_samples=16).html


@pytest.fixture
def visit(driver, cells_page):
    visit = Visit(driver, cells_page).open()
    yield visit
    assert visit.complaints() == []


@pytest.fixture
def flips(driver, flips_page):
    visit = Visit(driver, flips_page).open()
    yield visit
    assert visit.complaints() == []


def shown_names(visit):
    return visit.texts('table.images tbody tr th')


def at(maps, pixel):
    """Values (N,) of maps (N, H, W) at a row and column."""
    return maps[:, pixel[0], pixel[1]]


def test_columns_sort_in_both_directions(visit):
    rows = read_page(visit.path).data['rows']
    for key in ('GED', 'entropy', 'image'):
        head = visit.find(f'th[data-key="{key}"]')
        upwards = [row['image'] for row in sorted(rows, key=itemgetter(key))]
        # Equal ones stay in the order of the data set.
        downwards = sorted(rows, key=itemgetter(key), reverse=True)
        downwards = [row['image'] for row in downwards]
        first = 'ascending' if key == 'image' else 'descending'
        for direction in (first, *{'ascending', 'descending'} - {first}):
            head.find_element('tag name', 'button').click()
            assert head.get_attribute('aria-sort') == direction
            expected = upwards if direction == 'ascending' else downwards
            assert shown_names(visit) == expected
    assert len(visit.all('[aria-sort]')) == 1


def test_a_bin_of_the_reliability_diagram_filters_and_sorts(visit):
    rows = read_page(visit.path).data['rows']
    bins = visit.all('#reliability .choice')
    words = bins[0].get_attribute('aria-label')
    place = int(re.match(r'Confidence (\d+) %', words)[1]) // 10
    visit.run('arguments[0].focus()', bins[0])
    visit.press('ENTER')
    shares = {}
    for row in rows:
        counts = row['bins']['probabilities'][0]
        shares[row['image']] = counts[place] / sum(counts)
    expected = [n for n, share in shares.items() if share]
    expected.sort(key=lambda n: -shares[n])
    assert shown_names(visit) == expected
    cells = visit.texts('tbody .bin-share')
    assert cells == [f'{100 * shares[n]:.1f} %' for n in expected]
    assert f'{len(expected)} of {len(rows)}' in visit.find('#filter').text
    focused = visit.run('return document.activeElement.getAttribute("class")')
    assert focused == 'choice'
    visit.show_image(0)
    assert 'marked: confidence' in visit.find('#stage-words').text
    visit.press('ESCAPE')
    visit.find('#clear-filter').click()
    assert len(shown_names(visit)) == len(rows)


def test_a_bar_of_the_histogram_filters(visit):
    for place in range(len(visit.all('#histogram .choice'))):
        bar = visit.all('#histogram .choice')[place]
        words = bar.get_attribute('aria-label')
        count = int(re.search(r'(\d+) image', words)[1])
        visit.run('arguments[0].dispatchEvent(new MouseEvent("click"))', bar)
        assert len(shown_names(visit)) == count
        visit.find('#clear-filter').click()


def test_rows_open_by_keyboard_and_back_returns(visit):
    row = visit.find('tr.opens')
    visit.run('arguments[0].focus()', row)
    visit.press('ARROW_DOWN')
    name = visit.run('return document.activeElement.cells[0].textContent')
    visit.press('ENTER')
    visit.wait("return !document.querySelector('#explorer').hidden")
    visit.wait(
        "return document.querySelector('#image-name').textContent === "
        'arguments[0]',
        name,
    )
    assert not visit.find('#overview').is_displayed()
    visit.driver.back()
    visit.wait("return document.querySelector('#explorer').hidden")
    focused = visit.run('return document.activeElement.cells[0].textContent')
    assert focused == name


def test_samples_step_and_play(visit):
    visit.show_image(0)
    words = visit.find('#stage-words')
    assert words.text == 'Mean of 16 samples'
    visit.press('ARROW_RIGHT')
    assert words.text == 'Sample 1 of 16'
    visit.find('#step-on').click()
    assert words.text == 'Sample 2 of 16'
    for _ in range(3):
        visit.press('ARROW_LEFT')
    assert words.text.startswith('Decision')
    visit.press('ARROW_LEFT')
    assert words.text == 'Annotator 4 of 4'
    for _ in range(4):
        visit.find('#step-back').click()
    assert words.text == 'Sample 16 of 16'
    visit.find('#play').click()
    visit.wait(
        "return document.querySelector('#stage-words').textContent === "
        "'Annotator 2 of 4'"
    )
    visit.find('#play').click()
    assert visit.find('#play').get_attribute('aria-pressed') == 'false'
    chosen = visit.all('#filmstrip [aria-selected="true"]')
    assert [one.get_attribute('aria-label') for one in chosen] == [words.text]


def test_the_stage_shows_the_map_that_it_names(visit):
    data = read_page(visit.path)
    _, _, samples = unpack_maps(data.images[0])
    foreground = np.array(data.data['palette'][1], float)
    visit.show_image(0)
    pixel = (*RING, *SIZE)
    decided = {}
    for i in range(16):
        visit.press('ARROW_RIGHT')
        decided[i] = visit.colour('#stage', *pixel)
    plain = decided[int(np.argmin(at(samples, RING)))]
    assert 0 < at(samples, RING).sum() < 16
    for i, colour in decided.items():
        expected = plain
        if samples[i][RING]:
            expected = 0.55 * plain + 0.45 * foreground
        assert abs(colour - expected).max() < 3


def test_the_rest_given_a_pixel(visit):
    data = read_page(visit.path)
    _, _, samples = unpack_maps(data.images[0])
    visit.show_image(0)
    visit.click_pixel(*RING, *SIZE)
    for k in (1, 0):
        visit.find(f'#given-choices input[value="{k}"]').click()
        holds = [i for i in range(16) if samples[i][RING] == k]
        assert visit.find('#given-share').text == f'{len(holds)} of 16'
        share = f'({100 * len(holds) / 16:.0f} %)'
        assert share in visit.find('#given-words').text
        strip = visit.texts('#filmstrip .sample')
        assert strip == [f'S{i + 1}' for i in holds]
        given = samples[holds]
        for pixel in ((12, 12), RING, (12, 17), (2, 2)):
            check_means(visit, data, samples, given, pixel)
    visit.find('#forget').click()
    assert len(visit.all('#filmstrip .sample')) == 16


def check_means(visit, data, samples, given, pixel):
    """Both means are the picture, tinted as often as the class is there."""
    colour = np.array(data.data['palette'][1], float)
    shares = [0.8 * np.mean(at(maps, pixel) == 1) for maps in (samples, given)]
    seen = [
        visit.colour(name, *pixel, *SIZE)
        for name in ('#mean-all', '#mean-given')
    ]
    pictures = [
        (one - share * colour) / (1 - share)
        for one, share in zip(seen, shares, strict=True)
    ]
    assert abs(pictures[0] - pictures[1]).max() < 8


def test_a_class_that_no_sample_has_is_told_honestly(flips):
    flips.show_image(0)
    flips.click_pixel(12, 12, *SIZE)
    select = flips.find('#given-other')
    select.find_element('css selector', 'option[value="3"]').click()
    words = flips.find('#given-words').text
    assert words.startswith('0 of 16')
    assert 'nothing to show' in words and 'less than 1 %' in words
    assert not flips.find('#given-pictures').is_displayed()
    assert len(flips.all('#filmstrip .sample')) == 16


def test_flip_states_are_those_of_the_samples(flips):
    _, _, samples = unpack_maps(read_page(flips.path).images[0])
    twin = np.mean([(sample == 2).any() for sample in samples])
    assert 0 < twin < 1
    flips.show_image(0)
    assert f'cell2 {100 * twin:.0f} %' in flips.find('#flips').text
    assert 'Contour boxplot' not in flips.texts('#modes button')
    flips.click_pixel(12, 12, *SIZE)
    flips.find('#given-choices input[value="2"]').click()
    assert flips.find('#given-share').text == f'{round(16 * twin)} of 16'


def test_a_hypothesis_shows_its_samples_alone(visit):
    hypothesis = read_page(visit.path).images[0]['hypotheses'][0]
    visit.show_image(0)
    button = visit.find('#hypotheses button')
    assert f'{100 * hypothesis["probability"]:.0f} %' in button.text
    button.click()
    names = [f'S{i + 1}' for i in hypothesis['members']]
    assert visit.texts('#filmstrip .sample') == names
    visit.press('ESCAPE')
    assert len(visit.all('#filmstrip .sample')) == 16


SLIDE = """
const slider = document.querySelector('#threshold');
slider.value = arguments[0];
slider.dispatchEvent(new Event('input', { bubbles: true }));
"""


def test_the_threshold_cuts_the_probability(visit):
    percents = unpack(read_page(visit.path).images[0]['probs']['1'])
    visit.show_image(0)
    visit.press('4')
    for threshold in (30, 76):
        visit.run(SLIDE, threshold)
        area = 100 * (percents >= threshold).mean()
        expected = f'at least {threshold} %: {area:.1f} % of the image'
        assert expected in visit.find('#stage-words').text


def test_another_image_by_keyboard(visit):
    page = read_page(visit.path)
    visit.show_image(0)
    assert visit.find('#image-name').text == page.images[0]['name']
    for key, image in ('DOWN', page.data['explored'][1]), ('UP', 0):
        visit.press(f'PAGE_{key}')
        shown = "return document.querySelector('#image-name').textContent"
        visit.wait(f'{shown} === arguments[0]', page.images[image]['name'])
        assert visit.run('return location.hash') == f'#image={image}'
    assert visit.find('#previous-image').get_attribute('disabled')


OUTLINE = """
const style = getComputedStyle(document.activeElement);
return style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth);
"""


def test_focus_is_seen(visit):
    visit.show_image(0)
    for _ in range(13):
        visit.press('TAB')
        assert visit.run(OUTLINE) >= 2


def test_views_and_the_cross_by_keyboard(visit):
    visit.show_image(0)
    for key, words in (
        *(('2', '22 maps'), ('3', '4 annotators')),
        *(('4', 'probability of at least 50 %'), ('5', 'median')),
        ('1', 'Mean of 16'),
    ):
        visit.press(key)
        assert words in visit.find('#stage-words').text
        pressed = visit.all('#modes [aria-pressed="true"]')
        assert len(pressed) == 1
    visit.press('SHIFT', 'ARROW_RIGHT')
    assert 'column 17, row 12' in visit.find('#given-choices').text
    visit.press('SHIFT', 'ARROW_UP')
    assert 'column 17, row 11' in visit.find('#given-choices').text
    visit.press('ESCAPE')
    assert visit.find('#given-choices').text == ''
    visit.press('ESCAPE')
    visit.wait("return document.querySelector('#explorer').hidden")


@pytest.mark.parametrize(
    ('page', 'width'),
    [('cells_page', 360), ('flips_page', 360), ('cells_page', 740)],
)
def test_no_sideways_scrolling_in_a_small_window(driver, page, width, request):
    visit = Visit(driver, request.getfixturevalue(page)).open(width=width)
    wide = 'return document.documentElement.scrollWidth'
    assert visit.run(wide) <= width
    visit.run("document.querySelectorAll('details').forEach(d => d.open = 1)")
    assert visit.run(wide) <= width
    visit.show_image(0)
    for button in visit.all('#modes button'):
        button.click()
        assert visit.run(wide) <= width
    visit.find('#modes button').click()
    visit.click_pixel(*RING, *SIZE)
    visit.find('#given-choices input').click()
    assert visit.run(wide) <= width
    assert visit.complaints() == []


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r'\d+', colour)[:3]]
    linear = [
        p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4
        for p in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize('dark', [False, True])
def test_text_can_be_read_in_light_and_dark(driver, cells_page, dark):
    visit = Visit(driver, cells_page).open(dark=dark)
    colour = (
        'const one = document.createElement("i"); document.body.append(one);'
        'one.style.color = `var(${arguments[0]})`;'
        'return getComputedStyle(one).color;'
    )
    grounds = [visit.run(colour, g) for g in ('--ground', '--raised')]
    assert (luminance(grounds[0]) < 0.1) == dark
    for name in ('--ink', '--soft', '--accent', '--warning'):
        for ground in grounds:
            assert contrast(visit.run(colour, name), ground) >= 4.5
    pair = [visit.run(colour, c) for c in ('--on-accent', '--accent')]
    assert contrast(*pair) >= 4.5


def test_the_switch_changes_colours_and_is_remembered(driver, cells_page):
    visit = Visit(driver, cells_page).open(dark=True)
    theme = 'return document.documentElement.dataset.theme'
    assert visit.run(theme) == 'dark'
    visit.find('#theme').click()
    assert visit.run(theme) == 'light'
    visit.open(dark=True)
    assert visit.run(theme) == 'light'
    visit.run('localStorage.clear()')
