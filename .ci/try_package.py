"""Build sdist and wheel; train a step from the wheel outside the repository.

The wheel goes into an environment of its own that sees the stack of the one
that runs this script, but not the mmcar there.
"""

import importlib.util
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
SIZE = 80
CONFIG = """
_base_ = 'mmcar::quickstart/car_lidc-shapes.py'
train_dataloader = dict(
    batch_size=2,
    num_workers=0,
    persistent_workers=False,
    dataset=dict(data_root='data'),
)
train_cfg = dict(
    phases=[
        dict(iters=1, train=['calibration']),
        dict(_base_.tuning, iters=1),
    ]
)
val_dataloader = val_evaluator = val_cfg = None
"""


def run(*command: object, cwd: Path) -> str:
    """Run a command as from a fresh shell; return what it printed."""
    env = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}
    env['OMP_NUM_THREADS'] = '1'
    result = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if result.returncode:
        print(*result.stdout.splitlines()[-30:], sep='\n')
        sys.exit(f'{" ".join(map(str, command))} failed')
    return result.stdout


def build(folder: Path) -> Path:
    """Build the sdist, and the wheel from the sdist; return the wheel."""
    tool = (sys.executable, '-m', 'build', '--no-isolation')
    run(*tool, '--outdir', folder, ROOT, cwd=folder)
    (sdist,), (wheel,) = folder.glob('*.tar.gz'), folder.glob('*.whl')
    with tarfile.open(sdist) as archive:
        parts = {Path(name).parts[1:2] for name in archive.getnames()}
    expected = ('requirements', 'configs', 'tests', 'tools', 'model-index.yml')
    missing = [name for name in expected if (name,) not in parts]
    if missing:
        sys.exit(f'The sdist lacks {", ".join(missing)}')
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    stray = [n for n in names if not n.startswith(('mmcar/', 'mmcar-'))]
    assets = ROOT / 'mmcar' / 'report' / 'page' / 'assets'
    for file in assets.iterdir():
        if str(file.relative_to(ROOT)) not in names:
            sys.exit(f'The wheel lacks {file.name} of the report')
    if stray:
        sys.exit(f'The wheel holds files beside mmcar: {stray}')
    return wheel


def make_environment(folder: Path, wheel: Path) -> Path:
    """Install the wheel beside the stack; return the interpreter."""
    run(sys.executable, '-m', 'venv', '--without-pip', folder, cwd=ROOT)
    python = folder / 'bin' / 'python'
    pip = (sys.executable, '-m', 'pip', '--python', python, 'install', '-qq')
    run(*pip, '--no-deps', '--no-index', wheel, cwd=folder)
    # After mmcar's own folder, and without the .pth files that lie there: an
    # editable mmcar of the stack's environment stays out of sight.
    get_path = 'import sysconfig; print(sysconfig.get_paths()["purelib"])'
    site = Path(run(python, '-c', get_path, cwd=folder).strip())
    stack = Path(importlib.util.find_spec('mmseg').origin).parents[1]
    (site / 'stack.pth').write_text(f'{stack}\n')
    return python


def write_data(folder: Path) -> None:
    """Write three images with two readers each."""
    rng = np.random.default_rng(0)
    for i in range(3):
        image = folder / 'images' / 'train' / f'{i}.png'
        image.parent.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8)
        Image.fromarray(pixels).save(image)
        for reader in range(2):
            mask = np.zeros((SIZE, SIZE), np.uint8)
            mask[30 : 40 + 5 * reader, 30:50] = 1
            path = folder / 'annotations' / 'train' / f'{i}' / f'{reader}.png'
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(mask).save(path)


def main() -> None:
    """Build, install, train."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(folder)
        print(f'Built sdist and wheel {wheel.name}', flush=True)
        python = make_environment(folder / 'env', wheel)
        where = 'import mmcar; print(mmcar.__path__[0])'
        package = Path(
            run(python, '-c', where, cwd=folder).splitlines()[-1]
        ).resolve()
        if not package.is_relative_to((folder / 'env').resolve()):
            sys.exit(f'mmcar was imported from {package}, not from the wheel')
        write_data(folder / 'data')
        (folder / 'toy.py').write_text(CONFIG)
        train = package / '.mim' / 'tools' / 'train.py'
        run(python, train, 'toy.py', '--work-dir', 'work', cwd=folder)
        if not (folder / 'work' / 'iter_2.pth').is_file():
            sys.exit('The training from the wheel left no checkpoint')
        print('Trained from the wheel, outside the repository')


if __name__ == '__main__':
    main()
