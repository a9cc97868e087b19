"""Reading a report as a browser does, without its scripts."""

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path


@dataclass
class ReadPage:
    """What a page holds: data, packed images, visible text, tags."""

    data: dict = field(default_factory=dict)
    images: dict = field(default_factory=dict)
    text: str = ''
    tags: list = field(default_factory=list)


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.page = ReadPage()
        self.script = None

    def handle_starttag(self, tag, attrs):
        self.page.tags.append((tag, dict(attrs)))
        if tag in ('script', 'style'):
            self.script = dict(attrs).get('id', '')

    def handle_endtag(self, tag):
        if tag in ('script', 'style'):
            self.script = None

    def handle_data(self, data):
        if self.script is None:
            self.page.text = ' '.join((self.page.text + data).split()) + ' '
        elif self.script == 'report-data':
            self.page.data = json.loads(data)
        elif self.script.startswith('image-data-'):
            index = int(self.script.removeprefix('image-data-'))
            self.page.images[index] = json.loads(data)


def read_html(text: str) -> ReadPage:
    reader = Reader()
    reader.feed(text)
    return reader.page


def read_page(path: Path) -> ReadPage:
    return read_html(path.read_text(encoding='utf-8'))
