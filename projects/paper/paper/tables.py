"""The paper's tables with its figures, and ours where there are any."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from .published import TABLES, Row, Score

HEADS = {
    'GED_16': 'GED 16',
    'GED_50': 'GED 50',
    'GED_100': 'GED 100',
    'HM-IoU_16': 'HM-IoU 16',
    'ECE': 'ECE of F',
    'offset/mean': 'offset of F',
}
PAPER = 'paper'
DIGITS = {'ECE': 4, 'offset/mean': 3}
MARKED = re.compile(r'(<!-- table: (.+?) -->\n).*?(<!-- end -->)', re.DOTALL)
Scores = dict[str, list[float]]


def read_scores(work_dirs: Iterable[Path]) -> dict[str, Scores]:
    """Scores of every test below some folders, by the config's name.

    The paper's samples are independent: tests of others are left out.

    Args:
        work_dirs: Folders, searched for the ``test_scores.json`` that
            ``tools/test.py`` writes.

    Returns:
        Name of a config -> score -> its values, one per test.
    """
    found: dict[str, Scores] = {}
    for folder in work_dirs:
        for path in sorted(Path(folder).rglob('test_scores.json')):
            report = json.loads(path.read_text())
            if not report.get('independent_samples', True):
                continue
            scores = found.setdefault(Path(report['config']).stem, {})
            for name, value in report['scores'].items():
                scores.setdefault(name, []).append(value)
    return found


def read_summary(path: Path) -> dict:
    """Scores of the CPU experiments; empty without their summary."""
    return json.loads(path.read_text()) if path.is_file() else {}


def show(score: Score | None, digits: int = 3) -> str:
    """Mean and deviation as a cell; empty if there is no such score."""
    if score is None:
        return ''
    mean, deviation = score
    text = f'{mean:.{digits}f}'
    return text if deviation is None else f'{text} ± {deviation:.{digits}f}'


def mean_of(values: list[float] | None) -> Score | None:
    """Mean of runs, with their deviation if there are several."""
    if not values:
        return None
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return float(np.mean(values)), spread


def cpu_score(summary: Mapping, row: Row, name: str) -> Score | None:
    """A score of the CPU experiments that belong to a row."""
    record = summary.get(row.cpu, {})
    if name not in record.get('mean', {}):
        return None
    return record['mean'][name], record.get('spread', {}).get(name)


def _lines(
    row: Row,
    scores: Iterable[str],
    ours: Mapping[str, Scores],
    summary: Mapping,
) -> Iterator[tuple[str, list[Score | None], str]]:
    """Whose scores, the scores and the number of runs behind them."""
    published = [row.paper.get(score) for score in scores]
    yield PAPER, published, '3' if row.paper else ''
    own = ours.get(row.config, {})
    runs = max(map(len, own.values()), default=0)
    yield 'ours', [mean_of(own.get(score)) for score in scores], str(runs)
    if row.cpu in summary:
        name = row.cpu.split('/')[1]
        found = [cpu_score(summary, row, score) for score in scores]
        runs = summary[row.cpu].get('seeds', '')
        yield f'ours, CPU scale (`{name}`)', found, str(runs)


def table(
    name: str,
    ours: Mapping[str, Scores],
    summary: Mapping,
    only: str | None = None,
) -> str:
    """One table in Markdown: three lines of scores per row of the paper.

    Args:
        name: Its title.
        ours: See `read_scores`.
        summary: See `read_summary`.
        only: Config of the one row that is shown; None: all.
    """
    scores, rows = TABLES[name]
    rows = [row for row in rows if only in (None, row.config)]
    lines = [['', 'whose', *(HEADS[score] for score in scores), 'runs']]
    for row in rows:
        for whose, values, runs in _lines(row, scores, ours, summary):
            shown = [
                show(value, DIGITS.get(score, 3))
                for value, score in zip(values, scores, strict=True)
            ]
            first = f'{row.label} (`{row.config}`)' if whose == PAPER else ''
            lines.append([first, whose, *shown, runs])
    head, *body = (f'| {" | ".join(cells)} |' for cells in lines)
    return '\n'.join([head, '|---' * len(lines[0]) + '|', *body])


def fill_page(page: str, ours: Mapping[str, Scores], summary: Mapping) -> str:
    """Put the tables between their marks in a page."""
    return MARKED.sub(
        lambda m: f'{m[1]}{table(m[2], ours, summary)}\n{m[3]}', page
    )
