"""What a rehearsal took and found, as text."""

from mmcar import cli

SAME = ('mIoU', 'aAcc', 'mAcc')


def cost_table(record: dict) -> str:
    """A row per step: time, memory, disk."""
    rows = [['step', 'processor min', 'min', 'peak RSS MB', 'disk MB']]
    for name, entry in record['steps'].items():
        rows.append(
            [
                name,
                f'{entry["processor_minutes"]:.1f}',
                f'{entry["minutes"]:.1f}',
                f'{entry["memory_mb"]:.0f}',
                f'{entry["disk_mb"]:.1f}' if entry['disk_mb'] else '',
            ]
        )
    return cli.format_table(rows)


def score_lines(record: dict) -> list[str]:
    """What was found: B's scores three times, then those of the samples."""
    found = {name: step['found'] for name, step in record['steps'].items()}
    stock = found['test B with MMSeg']
    live, cached = found['test B, live'], found['test B, cached']
    lines = [
        f'B, {name}: {stock[name]} by MMSeg, '
        f'{live[f"black_box/{name}"]} through our pipeline live, '
        f'{cached[f"black_box/{name}"]} cached'
        for name in SAME
    ]
    scores = found['test'].items()
    lines += [f'{name}: {value:.4g}' for name, value in scores]
    return lines


def check_black_box(record: dict) -> list[str]:
    """What of the promise about B's mIoU does not hold: nothing, if all is.

    Live it equals what MMSeg reports, to the digit; cached at 256x512 it is
    within one point.
    """
    found = {name: step['found'] for name, step in record['steps'].items()}
    stock = found['test B with MMSeg']
    live, cached = found['test B, live'], found['test B, cached']
    broken = [
        f'{name} of B is {live[f"black_box/{name}"]} live, but MMSeg '
        f'reports {stock[name]}'
        for name in SAME
        if live[f'black_box/{name}'] != stock[name]
    ]
    distance = cached['black_box/mIoU'] - stock['mIoU']
    if abs(distance) > 1:
        broken.append(
            f'mIoU of B is {distance:+.2f} points off cached, at 256x512'
        )
    return broken
