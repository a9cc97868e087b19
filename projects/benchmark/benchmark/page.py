"""The page, from records: tables, verdicts, settings, runs."""

import re
from collections.abc import Sequence
from pathlib import Path

from mmcar.utils.errors import UserError
from mmcar.utils.files import write_file

from .methods import CONTROLS, FEWER, FREE, METHODS, best_of
from .rows import COLUMNS, Row, methods_of, rows_of, tuning
from .tasks import TASKS, Task
from .verdicts import diet_verdict, diets_of, summary

MARKED = re.compile(r'(<!-- table: (.+?) -->\n).*?(<!-- end -->)', re.DOTALL)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A markdown table; the first row is the head."""
    head, *body = (f'| {" | ".join(cells)} |' for cells in rows)
    return '\n'.join([head, '|---' * len(rows[0]) + '|', *body])


def score_table(records: Sequence[dict], task: Task) -> str:
    """Scores and costs of every method, and what is possible."""
    keys = [
        key
        for key in COLUMNS
        if key not in ('HM-IoU_16', 'flip_error', 'd_acc')
        or key == task.second
    ]
    heads = [COLUMNS[key].heading for key in keys]
    lines = [['', *heads, 'seeds']]
    found = {row.method: row for row in rows_of(records, task)}
    if task.own_budget and not found:
        return 'Did not run yet.'
    for name in methods_of(task):
        method = METHODS[name]
        title = f'**{method.title}**' if method.ours else method.title
        row = found.get(name)
        cells = [row.cell(key) if row else '' for key in keys]
        lines.append([title, *cells, row.seeds if row else '0'])
    for record in records:
        if record['task'] == task.name and record['part'] == 'bound':
            row = Row(record['method'], (record,))
            cells = [row.cell(key) for key in keys]
            lines.append(['*draws of annotations*', *cells, '1'])
    return markdown(lines)


def settings_table(records: Sequence[dict]) -> str:
    """Every setting that was tried, with its score; the winner in bold."""
    lines = [['task', 'method', 'settings and their GED 16, winner bold']]
    for task in TASKS.values():
        tuned = tuning(records, task)
        for method in METHODS:
            if method not in tuned:
                continue
            best = best_of(tuned[method])
            shown = [
                f'{"**" if setting == best else ""}{setting}: {ged:.3f}'
                f'{"**" if setting == best else ""}'
                for setting, ged in tuned[method].items()
            ]
            title = METHODS[method].title
            lines.append([task.name, title, '; '.join(shown)])
    return markdown(lines)


def adversary_table(records: Sequence[dict]) -> str:
    """The recipe with several diets of D, on held-out training images."""
    keys = 'GED_16', 'HM-IoU_16', 'flip_error', 'flood_rate_16', 'd_acc'
    heads = [COLUMNS[key].heading for key in keys]
    lines = [['task', 'D', *heads, 'budget, s', 'seeds']]
    for task in TASKS.values():
        for variant, row in diets_of(records, task).items():
            cells = [row.cell(key) for key in keys]
            budget = f'{row.runs[0]["budget"]:g}'
            lines.append([task.name, variant, *cells, budget, row.seeds])
    return f'{diet_verdict(records)}\n\n{markdown(lines)}'


def fewer_table(records: Sequence[dict]) -> str:
    """Samples that stand for more of them, on the F of the same row."""
    keys = 'GED_16', 'HM-IoU_16'
    heads = [COLUMNS[key].heading for key in keys]
    lines = [['task', '16 samples of the training-free row', *heads, 'seeds']]
    for task in TASKS.values():
        usual = [r for r in rows_of(records, task) if r.method == FREE]
        if not usual:
            continue
        chosen = usual[0].runs[0]['setting']
        rows = {'independent': usual[0]}
        for way in FEWER:
            runs = [
                record
                for record in records
                if (record['task'], record['part']) == (task.name, 'fewer')
                and (record['method'], record['setting']) == (way, chosen)
            ]
            if runs:
                rows[way] = Row(way, tuple(runs))
        if len(rows) > 1:
            lines += [
                [task.name, way, *map(row.cell, keys), row.seeds]
                for way, row in rows.items()
            ]
    return markdown(lines)


def controls_table(records: Sequence[dict]) -> str:
    """The paper's controls beside CAR as in the paper, seed 0."""
    keys = 'GED_16', 'GED_100', 'HM-IoU_16', 'diversity_16', 'train_minutes'
    lines = [['task', 'method', *(COLUMNS[key].heading for key in keys)]]
    for task in TASKS.values():
        rows = {row.method: row.runs[:1] for row in rows_of(records, task)}
        for record in records:
            if (record['task'], record['part']) == (task.name, 'control'):
                rows[record['method']] = (record,)
        if rows.keys().isdisjoint(CONTROLS):
            continue
        for name in ('car', *CONTROLS):
            if name in rows:
                row = Row(name, tuple(rows[name]))
                title = (METHODS | CONTROLS)[name].title
                lines.append([task.name, title, *map(row.cell, keys)])
    return markdown(lines)


def runs_table(records: Sequence[dict]) -> str:
    """Where every run of the score tables lies, and what it was made with."""
    heads = ['row', 'setting', 'budget, s', 'seed', 'folder']
    lines = [[*heads, 'trainings: iterations', 'commit']]
    for task in TASKS.values():
        for row in rows_of(records, task):
            for run in row.runs:
                lines.append(
                    [
                        f'{task.name}, {METHODS[row.method].title}',
                        run['setting'],
                        f'{run["budget"]:g}',
                        str(run['seed']),
                        f'`{run["folder"]}`',
                        made_with(run),
                        (run['commit'] or '')[:9],
                    ]
                )
    return markdown(lines)


def made_with(run: dict) -> str:
    """Trainings of a run and their iterations, or why it failed."""
    if 'failed' in run:
        return f'failed: {run["failed"]}'
    trainings = zip(run['trainings'], run['iterations'], strict=True)
    return ', '.join(f'`{Path(t).name}`: {number}' for t, number in trainings)


def all_tables(records: Sequence[dict]) -> dict[str, str]:
    """Every generated part of the page by its name."""
    return {
        'summary': summary(records),
        **{name: score_table(records, task) for name, task in TASKS.items()},
        'settings': settings_table(records),
        'fewer': fewer_table(records),
        'controls': controls_table(records),
        'adversary': adversary_table(records),
        'runs': runs_table(records),
    }


def fill_page(text: str, records: Sequence[dict]) -> str:
    """Put the tables between their marks.

    Raises:
        UserError: A mark names no table, or a table has no mark.
    """
    tables = all_tables(records)
    marks = [match[2] for match in MARKED.finditer(text)]
    if sorted(marks) != sorted(tables):
        raise UserError(
            f'The page has marks of the tables {sorted(marks)}; expected '
            f'each of {sorted(tables)} once.'
        )
    return MARKED.sub(lambda m: f'{m[1]}{tables[m[2]]}\n{m[3]}', text)


def write_page(page: Path, records: Sequence[dict]) -> None:
    """Write the tables into a page."""
    write_file(page, fill_page(page.read_text(), records).encode())
