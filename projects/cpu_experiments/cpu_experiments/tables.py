"""The tables of the results page, from records of a summary."""

import re
from dataclasses import dataclass
from pathlib import Path

from mmcar.utils.errors import UserError
from mmcar.utils.files import write_file

from .suite import TABLES, Table

MARKED = re.compile(r'(<!-- table: (.+?) -->\n).*?(<!-- end -->)', re.DOTALL)


@dataclass(frozen=True)
class Column:
    """How a score is shown: heading, unit, digits after the point."""

    heading: str
    digits: int = 4
    scale: float = 1
    unit: str = ''

    def show(self, record: dict, key: str, missing: str = '') -> str:
        """Mean and spread of a score, as a cell."""
        if key not in record['mean']:
            return missing
        parts = [
            f'{self.scale * record[part][key]:.{self.digits}f}'
            for part in ('mean', 'spread')
            if key in record.get(part, {})
        ]
        # As in print: .5 for 0.5.
        parts = [re.sub(r'^(-?)0\.', r'\1.', part) for part in parts]
        return ' ± '.join(parts) + self.unit


OFFSET = Column('', 1, 100)
COLUMNS = {
    'GED_16': Column('GED 16'),
    'GED_50': Column('GED 50'),
    'GED_100': Column('GED 100'),
    'HM-IoU_16': Column('HM-IoU 16'),
    'diversity_16': Column("E d(s, s')"),
    'flip_error': Column('worst flip frequency error', 1, 100, ' points'),
    'flip_correlation': Column('largest correlation', 3),
    'flip_coherence': Column('coherence', 1, 100, ' %'),
    'ECE': Column('ECE of F', 1, 100, ' %'),
    'offset/mean': Column('offset of F', 1, 100),
    'offset_samples/mean': Column('offset of samples', 1, 100),
}
OFFSET_CLASSES = ('pavement', 'pedestrian', 'car', 'tree', 'road')
# First cell, row of the summary, and whose offsets.
OFFSET_LINES = (
    ('F', 'camvid/recipe/normal', 'offset'),
    ("recipe's samples", 'camvid/recipe/normal', 'offset_samples'),
    ("cGAN + L_ce's samples", 'camvid/cgan-ce/normal', 'offset_samples'),
    (
        "perfect flips of B's decision",
        'camvid/perfect-flips/normal',
        'offset_samples',
    ),
)


def markdown(rows: list[list[str]]) -> str:
    """A markdown table; the first row is the head."""
    head, *body = (f'| {" | ".join(cells)} |' for cells in rows)
    return '\n'.join([head, '|---' * len(rows[0]) + '|', *body])


def score_table(table: Table, summary: dict) -> str:
    """Scores, seeds and costs of the rows that the summary has."""
    heads = [COLUMNS[key].heading for key in table.scores]
    rows = [['', *heads, 'seeds', 'minutes', 'parameters']]
    for title, key in table.lines:
        if key not in summary:
            continue
        found = summary[key]
        cells = [COLUMNS[name].show(found, name) for name in table.scores]
        is_bound = '/bounds/' in key
        seeds = '' if is_bound else str(found['seeds'])
        minutes, parameters = found.get('minutes'), found.get('parameters')
        costs = [
            '' if minutes is None else f'{minutes:.0f}',
            '' if not parameters else f'{parameters / 1e6:.2f} M',
        ]
        rows.append([title, *cells, seeds, *costs])
    return markdown(rows)


def offset_table(summary: dict) -> str:
    """CamVid's calibration offsets class by class, in points."""
    rows = [['offset, in points', *OFFSET_CLASSES, 'mean']]
    for title, key, kind in OFFSET_LINES:
        if key not in summary:
            continue
        names = [f'{kind}/{name}2' for name in OFFSET_CLASSES]
        cells = [
            OFFSET.show(summary[key], name, missing='-')
            for name in [*names, f'{kind}/mean']
        ]
        rows.append([title, *cells])
    return markdown(rows)


def all_tables(summary: dict) -> dict[str, str]:
    """Every table by its name in the results page."""
    tables = {
        name: score_table(table, summary) for name, table in TABLES.items()
    }
    return tables | {'camvid offsets': offset_table(summary)}


def fill_marks(text: str, tables: dict[str, str]) -> str:
    """Put tables between their marks, `<!-- table: NAME -->` and end.

    Raises:
        UserError: A mark names no table, or a table has no mark.
    """
    marks = [match[2] for match in MARKED.finditer(text)]
    if sorted(marks) != sorted(tables):
        raise UserError(
            f'The page has marks of the tables {sorted(marks)}; expected '
            f'each of {sorted(tables)} once.'
        )
    return MARKED.sub(lambda m: f'{m[1]}{tables[m[2]]}\n{m[3]}', text)


def fill_page(text: str, summary: dict) -> str:
    """Put the tables of a summary between their marks."""
    return fill_marks(text, all_tables(summary))


def write_page(page: Path, summary: dict) -> None:
    """Write the tables of a summary into a page."""
    write_file(page, fill_page(page.read_text(), summary).encode())
