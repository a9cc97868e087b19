"""What a run took and found, as text."""

import re

from mmcar import cli

MARKED = re.compile(r'(<!-- table: costs -->\n).*?(<!-- end -->)', re.DOTALL)
SAME = ('mIoU', 'aAcc', 'mAcc')
DIGITS = 2  # that MMSeg reports of a percentage


def cost_rows(record: dict) -> list[list[str]]:
    """A row per step: time, memory, disk; the head first."""
    rows = [['step', 'processor min', 'min', 'peak RSS, MB', 'disk, MB']]
    for name, entry in record['steps'].items():
        rows.append(
            [
                name,
                f'{entry["processor_minutes"]:.2f}',
                f'{entry["minutes"]:.1f}',
                f'{entry["memory_mb"]:.0f}' if entry['memory_mb'] else '',
                f'{entry["disk_mb"]:.1f}' if entry['disk_mb'] else '',
            ]
        )
    return rows


def cost_table(record: dict) -> str:
    """What each step took, for the console."""
    return cli.format_table(cost_rows(record))


def fill_page(page: str, record: dict) -> str:
    """Put the costs between their marks in a page of Markdown."""
    head, *body = (f'| {" | ".join(row)} |' for row in cost_rows(record))
    ruler = '|---' * len(cost_rows(record)[0]) + '|'
    table = '\n'.join([head, ruler, *body])
    return MARKED.sub(lambda m: f'{m[1]}{table}\n{m[2]}', page)


def black_box_scores(record: dict) -> dict[str, dict[str, float]]:
    """Scores of B by who measured them: MMSeg, ours live, ours cached."""
    found = {
        key: record['steps'][step]['found']
        for key, step in (
            ('MMSeg', 'test B with MMSeg'),
            ('live', 'test B, live'),
            ('cached', 'test B, cached'),
        )
    }
    ours = ('live', 'cached')
    return {
        key: {
            name: scores[f'black_box/{name}' if key in ours else name]
            for name in SAME
        }
        for key, scores in found.items()
    }


def score_lines(record: dict) -> list[str]:
    """What was found: B's scores three times, then those of the samples."""
    of_b = black_box_scores(record)
    lines = [
        f'B, {name}: '
        + ', '.join(f'{scores[name]} {key}' for key, scores in of_b.items())
        for name in SAME
    ]
    scores = record['steps']['test']['found'].items()
    return lines + [f'{name}: {value:.4g}' for name, value in scores]


def broken_promises(record: dict) -> list[str]:
    """What does not hold of what is promised about B's scores.

    Live they equal what MMSeg reports, to the digit; cached at 256x512, mIoU
    is within one point.
    """
    of_b = black_box_scores(record)
    stock, live = of_b['MMSeg'], of_b['live']
    broken = [
        f'{name} of B is {live[name]} live, but MMSeg reports {stock[name]}'
        for name in SAME
        if round(live[name], DIGITS) != round(stock[name], DIGITS)
    ]
    distance = of_b['cached']['mIoU'] - stock['mIoU']
    if abs(distance) > 1:
        broken.append(
            f'mIoU of B is {distance:+.2f} points off cached, at 256x512'
        )
    return broken
