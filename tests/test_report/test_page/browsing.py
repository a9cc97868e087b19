"""Debian's chromium without a window, and what readers do in it."""

import shutil
from pathlib import Path

import numpy as np
import pytest

FLAGS = (
    *('--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run'),
    *('--disable-background-networking', '--disable-component-update'),
    *('--disable-sync', '--disable-dev-shm-usage'),
)


def start_browser():
    """Start chromium; skip the test where it cannot run."""
    programs = [shutil.which(p) for p in ('chromium', 'chromedriver')]
    if None in programs:
        pytest.skip('no browser: apt-get install chromium chromium-driver')
    webdriver = pytest.importorskip(
        'selenium.webdriver', reason='pip install -r requirements/browser.txt'
    )
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    service = webdriver.ChromeService(programs[1])
    return webdriver.Chrome(options=options, service=service)


class Visit:
    """A reader of one page.

    Args:
        driver: The browser.
        path: The page.
    """

    def __init__(self, driver, path: Path) -> None:
        self.driver = driver
        self.path = path

    def open(self, width=1280, height=900, dark=False, scripts=True):
        """Load the page anew, in a window of a size."""
        run = self.driver.execute_cdp_cmd
        scheme = dict(
            name='prefers-color-scheme', value='dark' if dark else 'light'
        )
        run('Emulation.setEmulatedMedia', dict(features=[scheme]))
        run('Emulation.setScriptExecutionDisabled', dict(value=not scripts))
        size = dict(width=width, height=height, deviceScaleFactor=1)
        phone = width < 600
        run('Emulation.setDeviceMetricsOverride', size | dict(mobile=phone))
        self.driver.get('about:blank')
        self.driver.get(self.path.as_uri())
        if scripts:
            self.wait('return document.documentElement.dataset.ready')
        return self

    def run(self, script, *args):
        return self.driver.execute_script(script, *args)

    def wait(self, script, *args):
        """Wait until a script returns something true."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, 20, 0.05).until(
            lambda driver: driver.execute_script(script, *args)
        )

    def find(self, selector):
        return self.driver.find_element('css selector', selector)

    def all(self, selector):
        return self.driver.find_elements('css selector', selector)

    def texts(self, selector):
        return [one.text for one in self.all(selector) if one.is_displayed()]

    def press(self, *keys):
        """Press keys, held down together, wherever the focus is."""
        from selenium.webdriver import ActionChains, Keys

        codes = [getattr(Keys, key, key) for key in keys]
        chain = ActionChains(self.driver)
        for code in codes[:-1]:
            chain.key_down(code)
        chain.send_keys(codes[-1])
        for code in codes[:-1]:
            chain.key_up(code)
        chain.perform()

    def show_image(self, index):
        """Open an image by its row."""
        self.run(
            f'document.querySelector(\'tr[data-index="{index}"]\').click()'
        )
        self.wait(
            "return !document.querySelector('#explorer').hidden && "
            'location.hash === arguments[0] && '
            "document.querySelector('#filmstrip').childElementCount",
            f'#image={index}',
        )

    def click_pixel(self, row, column, height, width):
        """Click a pixel of the picture on the stage."""
        self.run(
            """
            const stage = document.querySelector('#stage');
            stage.scrollIntoView();
            const box = stage.getBoundingClientRect();
            const [x, y] = arguments;
            stage.dispatchEvent(new MouseEvent('click', {
              bubbles: true,
              clientX: box.left + box.width * x,
              clientY: box.top + box.height * y,
            }));
            """,
            (column + 0.5) / width,
            (row + 0.5) / height,
        )

    def colour(self, canvas, row, column, height, width):
        """Colour of a pixel of a map on a canvas, RGB."""
        return np.array(
            self.run(
                """
                const [name, x, y] = arguments;
                const canvas = document.querySelector(name);
                const context = canvas.getContext('2d');
                const [column, row] = [x * canvas.width, y * canvas.height];
                const found = context.getImageData(column, row, 1, 1);
                return [...found.data].slice(0, 3);
                """,
                canvas,
                (column + 0.5) / width,
                (row + 0.5) / height,
            ),
            float,
        )

    def complaints(self):
        """What the console holds, but for advice about reading colours."""
        messages = [one['message'] for one in self.driver.get_log('browser')]
        return [one for one in messages if 'willReadFrequently' not in one]
