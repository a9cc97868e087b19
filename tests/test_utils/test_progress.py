"""A bar on a terminal, lines elsewhere."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from mmcar.utils import progress
from mmcar.utils.progress import ProgressBar, track


class Clock:
    """Stands in for the time module; moves when told to."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress, 'time', clock)
    return clock


def test_without_a_terminal_there_are_lines_now_and_then(clock, capsys):
    with ProgressBar('images', 100) as bar:
        for _ in range(100):
            clock.now += 1
            bar.advance()
    out, err = capsys.readouterr()
    assert not out
    lines = err.splitlines()
    assert len(lines) == 4
    assert lines[0] == '  images 31/100 · 0:00:31 · ETA 0:01:09'
    assert lines[-1] == '  images 100/100 · 0:01:40'


def test_other_processes_are_silent(monkeypatch, clock, capsys):
    monkeypatch.setattr(progress, 'is_main_process', lambda: False)
    assert list(track(range(3), 'images')) == [0, 1, 2]
    assert capsys.readouterr() == ('', '')


def test_a_terminal_has_a_bar_that_fits_and_leaves_one_line(monkeypatch):
    screen = io.StringIO()

    def terminal(**kwargs: object) -> Console:
        kwargs.pop('stderr')
        return Console(file=screen, force_terminal=True, width=70, **kwargs)

    monkeypatch.setattr(progress, 'Console', terminal)
    monkeypatch.setenv('TERM', 'xterm')
    clock = SimpleNamespace(monotonic=lambda: 0.0)  # a busy machine is late
    monkeypatch.setattr(progress, 'time', clock)
    with ProgressBar('generator + discriminator', 300) as bar:
        bar.update(120, 'loss_cal 0.1 loss_adv 6.9', seconds_left=61)
        bar.pause()
        bar.resume()
        bar.update(300, 'loss_cal 0.2')
    shown = screen.getvalue()
    assert '━' in shown
    assert 'ETA 0:01:01' in shown, 'the narrow window cuts the note alone'
    assert shown.splitlines()[-1].endswith('300/300 · 0:00:00 · loss_cal 0.2')
