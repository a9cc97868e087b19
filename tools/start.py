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
from mmcar.utils.errors import UserError
from mmcar.utils.files import write_file

ROOT = Path(__file__).resolve().parents[1]
NAMES, SPLITS = ('training_free', 'tuned'), ('train', 'val', 'test')
SCORES = ('GED_16', 'HM-IoU_16', 'ECE')
LARGE, CROP, ITEMS = 1024, 128, 8
MARK = '# start.py {}: change any file here, and it leaves all as they are.\n'
FREE = """
_base_ = {base!r}  # F, a small U-Net, and how it is sampled
names = {names}  # of the ids 0, 1, ...: give them better ones
# Which files: train.csv, val.csv and test.csv beside this one.
files = dict(data_root={root!r}, metainfo=dict(classes=names))
files['label_map'] = {label_map}  # {why_ids}
# {why_values}
read = [dict(type='LoadCheckedImage', color_type={color!r}){values}]
crop = ({crop}, {crop})  # {why_crop}
train_steps = [
    *read,
    _base_.load[1],
    # Testing pads to a multiple of 16 by the edge: training sees such edges.
    dict(type='PadAll', size_divisor=16, padding_mode='edge'),
    dict(type='RandomCrop', crop_size=crop),
    dict(type='PadAll', size=crop, padding_mode='edge'),
    _base_.mirror,  # delete it where left and right are not alike
    _base_.pack,
]
test_steps = [*read, _base_.load_all[1], _base_.pack]  # all annotators
index = '{{{{ fileDirname }}}}/{{}}.csv'
train_dataloader, val_dataloader, test_dataloader = (
    dict(dataset=dict(files, ann_file=index.format(split), pipeline=steps))
    for split, steps in (
        ('train', train_steps), ('val', test_steps), ('test', test_steps)
    )
)
model = dict(
    decode_head=dict(
        num_classes=len(names),
        # What F holds for less likely than the floor is not drawn: no floods.
        # {why_fields}
        generator=dict(floor=0.02{fields}),
    ),
    test_cfg={test_cfg},
)
{channels}# The background would outweigh them.
scored = dict(classes=names[1:])
val_evaluator = [dict(_base_.ged, **scored), dict(_base_.hm_iou, **scored)]
val_evaluator.append(_base_.val_evaluator[2])
test_evaluator = val_evaluator
iters = {free_iters}  # {why_iters}
param_scheduler = dict(calibration=dict(end=iters))
train_cfg = dict(phases=[dict(iters=iters, train=['calibration'])])
default_hooks = dict(checkpoint=dict(interval=max(iters // 10, 1)))
"""
TUNED = """
_base_ = './training_free.py'
# A copy of F that scores of whole samples teach; F itself stays beside it.
net = _base_.model.decode_head.calibration
generator = dict(type='TunedSampler', net=net, temperature=0.1)
model = dict(
    decode_head=dict(generator=generator),
    loss_samples=[  # GED and HM-IoU, made differentiable
        dict(type='EnergyLoss', loss_weight=1.0, smooth=0.1),
        dict(type='MatchingLoss', loss_weight=1.0, smooth=0.1),
    ],
    train_cfg=dict(num_samples=8),
)
adam_g = dict(type='Adam', lr=5e-4)  # half of what F starts with
wrapper = dict(_delete_=True, type='OptimWrapper', optimizer=adam_g)
optim_wrapper = dict(calibration=None, generator=wrapper)
tuning = {tuned_iters}  # {why_iters}
falling = dict(type='CosineAnnealingLR', by_epoch=False, end=tuning)
param_scheduler = dict(_delete_=True, generator=falling)
begin_as_f = {{'generator.net': 'calibration'}}
train_cfg = dict(
    phases=[dict(iters=tuning, train=['generator'], copy=begin_as_f)]
)
default_hooks = dict(checkpoint=dict(interval=max(tuning // 10, 1)))
"""
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
    return dict(
        root=str(found.root.resolve()),
        names=('background', *names),
        label_map={a: b for a, b in ids.items() if a != b} or None,
        why_ids=f'the files hold {sorted(found.ids)}',
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
    base = osp.relpath(ROOT / 'configs/_base_/own_folder.py', out.resolve())
    settings = dict(settings_of(found), base=base, why_fields='', fields='')
    settings |= dict(free_iters=100, tuned_iters=100, why_iters='')

    def write() -> None:
        texts = {f'{s}.csv': index_of(part) for s, part in splits.items()}
        for name, text in zip(NAMES, (FREE, TUNED), strict=True):
            texts[f'{name}.py'] = text.format(**settings)
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
    # Two models on val; test, calibration and report look at images again.
    scoring = image * (3 * len(splits['val']) + 3 * len(splits['test']))
    left = 60 * minutes - (time.monotonic() - start) - scoring - 45
    if left < 20 * minutes:
        print(f'{minutes:g} minutes are few: most are not for training.')
    left = max(left, 20 * minutes)
    settings['free_iters'] = max(int(0.6 * left / first), 20)
    settings['tuned_iters'] = max(int(0.4 * left / second), 20)
    settings['why_iters'] = (
        f'of {minutes:g} minutes in all; an iteration of F takes '
        f'{first:.2g} s here, one of its copy {second:.2g} s'
    )
    write()


def steps(out: Path, run: Path, best: str) -> dict[str, Step]:
    """All steps by name: title, result and command of each."""

    def tool(name: str, *args: object) -> list[object]:
        return [osp.relpath(ROOT / 'tools' / name), *args]

    weights = {}
    for name in NAMES:
        phases = Config.fromfile(out / f'{name}.py').train_cfg.phases
        weights[name] = run / name / f'iter_{phases[0].iters}.pth'
    f, g = weights.values()
    begin: tuple[object, ...] = ('--cfg-options', f'load_from={f}')
    if any(g.parent.glob('iter_*.pth')):
        begin = ('--resume',)
    on_val = f'test_dataloader.dataset.ann_file={(out / "val.csv").absolute()}'
    found: dict[str, Step] = {}
    for name, how in zip(NAMES, (('--resume',), begin), strict=True):
        config, checkpoint = out / f'{name}.py', weights[name]
        folder = run / f'{name}_val'
        args = ('--work-dir', checkpoint.parent, *how)
        train = tool('train.py', config, *args)
        found[name] = f'Training: {name}', checkpoint, train
        args = ('--work-dir', folder, '--cfg-options', on_val)
        test = tool('test.py', config, checkpoint, *args)
        scores = folder / 'test_scores.json'
        found[folder.name] = f'Validation: {name}', scores, test
    config, checkpoint = out / f'{best}.py', weights[best]
    calibrated, report = run / 'calibrated.pth', run / 'report.html'
    for title, result, name, args in (
        (
            'Test',
            'test/test_scores.json',
            'test.py',
            ('--work-dir', run / 'test'),
        ),
        (
            'Calibration',
            'calibrated.json',
            'calibrate.py',
            ('--work-dir', run / 'calibration', '--out', calibrated),
        ),
        (
            'Report',
            'report.html',
            'analysis_tools/report.py',
            ('--out', report),
        ),
    ):
        command = tool(name, config, checkpoint, *args)
        found[title] = f'{title}: {best}', run / result, command
    return found


def run_all(out: Path, run: Path) -> None:
    """Run all steps; the better model on val is tested."""
    check = osp.relpath(ROOT / 'tools/analysis_tools/check_dataset.py')
    print('== Check')
    # What is sure to break has been refused: the rest may be as it should.
    run_script([check, str(out / f'{NAMES[0]}.py')])
    for name in (*NAMES, *(f'{n}_val' for n in NAMES)):
        title, result, command = steps(out, run, NAMES[0])[name]
        run_step(title, result, *command)
    folders = {f'{n}, val': run / f'{n}_val' for n in NAMES}

    def score(folder: Path) -> list[float]:
        scores = json.loads((folder / 'test_scores.json').read_text())[
            'scores'
        ]
        return [scores.get(name, math.nan) for name in SCORES]

    best = min(NAMES, key=lambda name: score(run / f'{name}_val')[0])
    for name in ('Test', 'Calibration', 'Report'):
        title, result, command = steps(out, run, best)[name]
        run_step(title, result, *command)
    folders[f'{best}, test'] = run / 'test'
    rows = [
        [name, *(f'{value:.3f}' for value in score(folder))]
        for name, folder in folders.items()
    ]
    print(cli.format_table([['16 samples', *SCORES], *rows]))
    print(f'{best} is better on val. Report: {run / "report.html"}')


def main() -> None:
    """Look, decide, and run."""
    args = parse_args()
    if not 0 < args.minutes < math.inf:
        raise UserError(f'--minutes={args.minutes}: expected more than 0')
    out = args.out or Path('work_dirs') / args.data.resolve().name
    if out.resolve().is_relative_to(args.data.resolve()):
        raise UserError(f'--out={out}: expected a folder outside {args.data}')
    found = look_at_folder(args.data)
    for file, text in found.doubts:
        print(f'Look at {file}: {text}')
    for file, text in found.problems:
        print(f'Wrong: {file}: {text}')
    if found.problems:
        print(f'{len(found.problems)} problems; nothing is written.')
        sys.exit(2)
    print(found.text())
    texts, asked = read_texts(out), out / 'asked.json'
    marks = {
        text.partition('\n')[0] + '\n'
        for name, text in texts.items()
        if name.endswith('.py')
    }
    request = json.dumps(
        [args.minutes, str(found.root.resolve()), found.entries]
    )
    if texts and marks != {mark_of(texts)}:
        print(f'{out}: changed by hand, left as it is.')
    elif not asked.is_file() or asked.read_text() != request:
        decide(found, out, args.minutes)
        write_file(asked, request.encode())
    run = out / f'run_{mark_of(read_texts(out)).split()[2][:-1]}'
    print(f'Configs: {out / "training_free.py"}, {out / "tuned.py"}')
    if not args.run:
        print('All of these by --run, with the better one at the end:')
        for _, _, command in steps(out, run, NAMES[1]).values():
            print('  python', *command)
        return
    try:
        run_all(out, run)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt('The same command goes on.') from stop


if __name__ == '__main__':
    cli.run_tool(main)
