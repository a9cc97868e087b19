"""From a folder of images and label maps to a report on a trained model.

Looks at DATA, writes indices of its splits and two configs, and prints the
commands to run; --run runs them. Interrupted, the same command goes on. What
was decided stands in the configs with its reason: change them, and run the
same command again. Files that were changed are never written over.
"""

import argparse
import csv
import hashlib
import io
import json
import math
import os.path as osp
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from analysis_tools.fit_fields import annotations, fields_that_pay
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmseg.registry import DATASETS
from quickstart import run_script, run_step

from mmcar import cli
from mmcar.apis.training import dry_run
from mmcar.config_check import Plan
from mmcar.datasets.folder_layout import FolderLayout, look_at_folder
from mmcar.datasets.folder_pairs import Entry, with_splits
from mmcar.datasets.image_files import read_image
from mmcar.datasets.listing import read_index
from mmcar.evaluation.functional.promises import images_needed
from mmcar.inference.calibration import split_halves
from mmcar.inference.promises import KINDS
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_file

ROOT = Path(__file__).resolve().parents[1]
BASES = ROOT / 'configs/_base_'
NAMES, SPLITS = ('training_free', 'tuned'), ('train', 'val', 'test')
SCORES = ('GED_16', 'HM-IoU_16', 'ECE')
LARGE, CROP, ITEMS = 1024, 128, 8
ALPHA, FEW, SHOWN = 0.1, 300, 40  # of promises; iterations; problems
F = 'model.decode_head.calibration'
MARK = '# start.py {}: change any file here, and it leaves all as they are.\n'
DEEP = """gray = [127.5] * {0}  # half of 255, for every channel
model['data_preprocessor'] = dict(mean=gray, std=gray)
model['decode_head']['calibration'] = dict(backbone=dict(in_channels={0}))
"""
Step = tuple[str, Path, list[object]]


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('data', type=Path, help='folder of images and labels')
    parser.add_argument(
        '--minutes', type=float, default=30, help='for all (default: 30)'
    )
    parser.add_argument(
        '--run', action='store_true', help='run the commands, too'
    )
    parser.add_argument(
        '--out',
        type=Path,
        metavar='DIR',
        help='folder of configs and results (default: work_dirs/<DATA>)',
    )
    cli.add_console_arguments(parser)
    return parser.parse_args()


def settings_of(found: FolderLayout) -> dict[str, Any]:
    """What follows from the files: classes, values, sizes."""
    ids, values = found.label_map(), found.values
    largest = max(max(c.size) for c in found.contents)
    whole = largest <= 1.25 * CROP
    windows = [c.window for c in found.contents]
    low, high = min(w[0] for w in windows), max(w[1] for w in windows)
    spans = [b - a for a, b in windows]
    kind, n = values[0].dtype, values[0].channels
    step, why = '', 'Values of 8 bits are what F expects.'
    if kind != 'uint8' and max(spans) > 2 * min(spans):
        step = ", dict(type='NormalizePercentiles')"
        why = f'{kind}, of another range in each image: each by its own.'
    elif kind != 'uint8':
        step = f", dict(type='WindowIntensity', low={low:g}, high={high:g})"
        why = f'{kind}: 99 % of the values of every image lie in between.'
    try:
        read_image(values[0].path)
        color, channels = 'color', ''
    except UserError:  # neither grey nor colours
        color, channels = 'unchanged', DEEP.format(n)
    slide = ''
    if largest > LARGE:  # in windows, each sample is still drawn as a whole
        slide = "mode='slide', crop_size=(512, 512), stride=(384, 384), "
    names = [f'class_{k}' for k in range(1, max(ids.values()) + 1)]
    new = {a: b for a, b in ids.items() if a != b} or None
    return dict(
        root=str(found.root.resolve()),
        names=('background', *names),
        label_map=new,
        why_ids=f'of the files, {sorted(found.ids)}'
        + (', to those of classes' if new else ', are those of classes'),
        why_values=why,
        values=step,
        color=color,
        channels=channels,
        crop=16 * math.ceil(largest / 16) if whole else CROP,
        why_crop=f'sides are up to {largest} pixels'
        + ('' if whole else ': parts of images, for time and memory'),
        test_cfg=f'dict({slide}num_samples=16)',
    )


def fit_fields(path: Path) -> tuple[str, str]:
    """Settings of fields, if any, and why."""
    cfg = cli.read_config(str(path))
    init_default_scope('mmseg')
    return fields_that_pay(annotations(cfg), cfg.model.decode_head.num_classes)


def measure(path: Path) -> tuple[str, float, float]:
    """Try a config: what it says; seconds of an iteration and of an image."""
    cfg, plan = cli.read_config(str(path)), Plan()
    cfg.launcher, cfg.work_dir = 'none', str(path.parent)
    with cli.naming_config(str(path)):
        text = dry_run(cfg, plan=plan)
    loader = cfg.train_dataloader
    images = DATASETS.build(loader.dataset)
    start = time.perf_counter()
    for index in range(ITEMS):
        images[index % len(images)]
    # Loading goes on beside training, on the same processors.
    load = (time.perf_counter() - start) / ITEMS * loader.batch_size
    step = plan.each['train_cfg.phases[0]'] + load / loader.num_workers
    return text, step, plan.each['Test']


def apart(function: Callable, *args: object) -> Any:
    """Call in a process of its own: torch and MMEngine stay fresh here."""
    context = get_context('fork' if sys.platform == 'linux' else None)
    with ProcessPoolExecutor(1, context) as pool:
        return pool.submit(function, *args).result()


def index_of(entries: Sequence[Entry]) -> str:
    """The text of an index."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator='\n')
    rows.writerow(('image', 'annotation', 'patient'))
    for entry in sorted(entries):
        for label in entry.labels:
            rows.writerow((entry.image, label, entry.patient))
    return text.getvalue()


def read_texts(out: Path) -> dict[str, str]:
    """The files that were written, as they are now."""
    names = [f'{n}.py' for n in NAMES] + [f'{s}.csv' for s in SPLITS]
    files = [out / name for name in names]
    return {f.name: f.read_text() for f in files if f.is_file()}


def mark_of(texts: dict[str, str]) -> str:
    """The first line of configs: a hash of all that is not this line."""
    parts = [
        text.partition('\n')[2] if name.endswith('.py') else text
        for name, text in sorted(texts.items())
    ]
    digest = hashlib.sha256('\0'.join(parts).encode()).hexdigest()
    return MARK.format(digest[:12])


def decide(found: FolderLayout, out: Path, minutes: float) -> None:
    """Write configs and indices; try them, and count iterations by time."""
    start = time.monotonic()
    entries = with_splits(found.entries)
    splits = {s: [e for e in entries if e.split == s] for s in SPLITS}
    base = osp.relpath(BASES / 'own_folder.py', out.resolve())
    settings = dict(settings_of(found), base=base, why_fields='', fields='')
    settings |= dict(free_iters=100, tuned_iters=100, why_iters='')

    def write() -> None:
        texts = {f'{s}.csv': index_of(part) for s, part in splits.items()}
        for name in NAMES:
            template = (BASES / f'own_folder_{name}.txt').read_text()
            # Its first line is kept for the mark, which is no part of itself.
            texts[f'{name}.py'] = '\n' + template.format(**settings)
        for name, text in texts.items():
            head = mark_of(texts) if name.endswith('.py') else ''
            write_file(out / name, (head + text.removeprefix('\n')).encode())

    write()
    free, tuned = (out / f'{name}.py' for name in NAMES)
    settings['fields'], settings['why_fields'] = apart(fit_fields, free)
    write()
    print('Preflight: a step of every training, an image of every test')
    text, first, _ = apart(measure, free)
    _, second, image = apart(measure, tuned)
    print(text.partition('\nPhases')[0])
    # A copy costs no less than F itself: a longer time of F was disturbed.
    first = min(first, second)
    # Two models on val; test, calibration, promises and report look again.
    scoring = image * (4 * len(splits['val']) + 3 * len(splits['test']))
    left = 60 * minutes - (time.monotonic() - start) - scoring - 45
    left = max(left, 20 * minutes)
    settings['free_iters'] = max(int(0.6 * left / first), 20)
    settings['tuned_iters'] = max(int(0.4 * left / second), 20)
    settings['why_iters'] = (
        f'Of {minutes:g} minutes in all: a step of F takes '
        f'{first:.2g} s here, one of its copy {second:.2g} s.'
    )
    if settings['free_iters'] < FEW:
        print(
            f'Only {settings["free_iters"]} steps of F fit into '
            f'{minutes:g} minutes: give more with --minutes.'
        )
    write()


def steps(out: Path, run: Path, best: str) -> list[Step]:
    """All that is to be run: title, result and command of each."""
    found, weights = [], {}

    def add(
        title: str, tool: str, name: str, result: str, *args: object
    ) -> None:
        command = [osp.relpath(ROOT / 'tools' / tool), out / f'{name}.py']
        found.append((f'{title}: {name}', run / result, [*command, *args]))

    def test(title: str, name: str, folder: str, *args: object) -> None:
        args = (weights[name], '--work-dir', run / folder, *args)
        add(title, 'test.py', name, f'{folder}/test_scores.json', *args)

    index = f'test_dataloader.dataset.ann_file={(out / "val.csv").absolute()}'
    begin: list[object] = []
    for name in NAMES:
        phases = Config.fromfile(out / f'{name}.py').train_cfg.phases
        last = f'{name}/iter_{phases[0].iters}.pth'
        weights[name] = run / last
        begun = any((run / name).glob('iter_*.pth'))
        how = ['--resume', *begin] if begun else begin
        add('Training', 'train.py', name, last, '--work-dir', run / name, *how)
        test('Validation', name, f'{name}_val', '--cfg-options', index)
        begin = ['--cfg-options', f'{F}.init_cfg.type=Pretrained']
        begin += [f'{F}.init_cfg.prefix=decode_head.calibration.']
        begin += [f'{F}.init_cfg.checkpoint={weights[name]}']
    test('Test', best, 'test')
    model, out_file = weights[best], ('--out', run / 'calibrated.pth')
    args = (model, '--work-dir', run / 'calibration', *out_file)
    add('Calibration', 'calibrate.py', best, 'calibrated.json', *args)
    if enough_to_promise(out / 'val.csv'):
        result = f'{model.relative_to(run).with_suffix("")}.promises.json'
        words: tuple = ('--promise', *KINDS, '--alpha', ALPHA, '--class')
        cfg = Config.fromfile(out / f'{best}.py')
        words += tuple(cfg.val_dataloader.dataset.metainfo.classes[1:])
        add('Promises', 'calibrate.py', best, result, model, *words)
    page = run / 'report.html'
    tool = 'analysis_tools/report.py'
    add('Report', tool, best, page.name, model, '--out', page)
    return found


def enough_to_promise(index: Path) -> bool:
    """Whether half of an index can promise something of new images."""
    pairs, whose = read_index(str(index))
    units = [whose.get(image, image) for image, _ in pairs]
    fitted, _ = split_halves(units)
    return len({units[i] for i in fitted}) >= images_needed(ALPHA)


def score(folder: Path) -> list[float]:
    """What a test has found."""
    report = json.loads((folder / 'test_scores.json').read_text())
    return [report['scores'].get(name, math.nan) for name in SCORES]


def run_all(out: Path, run: Path) -> None:
    """Run all steps; the better model on val is tested."""
    check = osp.relpath(ROOT / 'tools/analysis_tools/check_dataset.py')
    print('== Check', flush=True)
    # What is sure to break has been refused: the rest may be as it should.
    run_script([check, str(out / f'{NAMES[0]}.py')])
    for title, result, command in steps(out, run, NAMES[0])[:4]:
        run_step(title, result, *command)
    scores = {name: score(run / f'{name}_val') for name in NAMES}
    best = min(NAMES, key=lambda name: scores[name][0])
    for title, result, command in steps(out, run, best)[4:]:
        run_step(title, result, *command)
    rows = {f'{name}, val': values for name, values in scores.items()}
    rows[f'{best}, test'] = score(run / 'test')
    table = [[name, *(f'{v:.3f}' for v in row)] for name, row in rows.items()]
    print(cli.format_table([['16 samples', *SCORES], *table]))
    print(f'{best} is better on val. Report: {run / "report.html"}')
    if (iters := Config.fromfile(out / f'{NAMES[0]}.py').iters) < FEW:
        print(f'F has learnt for {iters} steps only: expect little of it.')
    if not any((run / best).glob('*.promises.json')):
        print(
            f'Nothing is promised: half of val has less than '
            f'{images_needed(ALPHA)} patients (or images).'
        )


def main() -> None:
    """Look, decide, and run."""
    args = parse_args()
    if not 0 < args.minutes < math.inf:
        raise UserError(f'--minutes={args.minutes}: expected more than 0')
    out = args.out or Path('work_dirs') / args.data.resolve().name
    if out.resolve().is_relative_to(args.data.resolve()):
        raise UserError(f'--out={out}: expected a folder outside {args.data}')
    found = look_at_folder(args.data)
    for file, text in found.doubts[:SHOWN]:
        print(f'Look at {file}: {text}')
    if len(found.doubts) > SHOWN:
        print(f'... and at {len(found.doubts) - SHOWN} more')
    for file, text in found.problems[:SHOWN]:
        print(f'Wrong: {file}: {text}')
    if found.problems:
        print(f'{len(found.problems)} problems; nothing is written.')
        sys.exit(2)
    print(found.text())
    texts, asked = read_texts(out), out / 'asked.json'
    marks = {texts[name][: len(MARK) + 10] for name in texts if 'py' in name}
    request = [args.minutes, str(found.root.resolve()), found.entries]
    if texts and marks != {mark_of(texts)}:
        print(f'{out}: changed by hand, left as it is.')
    elif not asked.is_file() or asked.read_text() != json.dumps(request):
        decide(found, out, args.minutes)
        write_file(asked, json.dumps(request).encode())
    run = out / f'run_{mark_of(read_texts(out)).split()[2][:-1]}'
    print(f'Configs: {out / "training_free.py"}, {out / "tuned.py"}')
    if not args.run:
        print('All of these by --run, with the better one at the end:')
        for _, _, command in steps(out, run, NAMES[1]):
            print('  python', *command)
        return
    try:
        run_all(out, run)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt('The same command goes on.') from stop


if __name__ == '__main__':
    cli.run_tool(main)
