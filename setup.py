"""Packaging of mmcar; versions of the fresh-machine path: requirements/."""

import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
# What `mim` and `mmcar::` look for inside the installed package, as .mim.
EXTRAS = ('configs', 'tools', 'model-index.yml')


def requirements(name: str) -> list[str]:
    """Return the requirement lines of ``requirements/<name>.txt``."""
    lines = (ROOT / 'requirements' / f'{name}.txt').read_text().splitlines()
    return [line for line in lines if line and not line.startswith('#')]


PLUGIN = requirements('figures') + requirements('plugin')


def version() -> str:
    """Return ``__version__`` without importing the package."""
    scope: dict[str, str] = {}
    exec((ROOT / 'mmcar' / 'version.py').read_text(), scope)
    return scope['__version__']


def extra_files() -> list[Path]:
    """List the files of `EXTRAS`, relative to the repository."""
    files = [
        file
        for extra in EXTRAS
        for file in ((ROOT / extra), *(ROOT / extra).rglob('*'))
        if file.is_file() and '__pycache__' not in file.parts
    ]
    return [file.relative_to(ROOT) for file in files]


def redirection(file: Path) -> str:
    """Return a script or config that stands for one of the repository.

    A script finds its siblings in the repository, where it would if started
    there.
    """
    if file.parts[0] == 'configs':
        return f'_base_ = {str(ROOT / file)!r}\n'
    path, folder = str(ROOT / file), str((ROOT / file).parent)
    return (
        f'import runpy\nimport sys\n\nsys.path[0] = {folder!r}\n'
        f"runpy.run_path({path!r}, run_name='__main__')\n"
    )


class BuildWithExtras(build_py):
    """Adds `EXTRAS` to the package.

    An editable install finds the package in the repository, but `mim` looks
    in site-packages: what lies there then leads to the repository's files,
    so that edits count.
    """

    def run(self) -> None:
        """Build, then place the extras."""
        super().run()
        root = self.build_lib
        if self.editable_mode:  # what lies here becomes part of the wheel
            root = self.get_finalized_command('install').install_lib
        for file in extra_files():
            target = Path(root) / 'mmcar' / '.mim' / file
            target.parent.mkdir(parents=True, exist_ok=True)
            if self.editable_mode and file.suffix == '.py':
                target.write_text(redirection(file), encoding='utf-8')
            else:
                shutil.copy(ROOT / file, target)


setup(
    name='mmcar',
    version=version(),
    description='Calibrated stochastic segmentation for MMSegmentation',
    long_description=(ROOT / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    keywords='segmentation, uncertainty, calibration, MMSegmentation',
    # Said explicitly, it makes an editable install a plain path, beside which
    # .mim may lie in site-packages.
    package_dir={'': '.'},
    packages=find_packages(include=['mmcar', 'mmcar.*']),
    package_data={'mmcar.report.page': ['assets/*']},
    cmdclass={'build_py': BuildWithExtras},
    python_requires='>=3.10',
    install_requires=requirements('runtime'),
    extras_require={
        'figures': requirements('figures'),
        'mmseg': PLUGIN + requirements('official'),
        'onedl': PLUGIN + requirements('onedl'),
        'torchmetrics': requirements('torchmetrics'),
        'tests': requirements('tests'),
        'deploy': requirements('deploy'),
        'docs': requirements('docs'),
        'browser': requirements('browser'),
        'notebook': requirements('notebook'),
    },
    classifiers=[
        'Development Status :: 4 - Beta',
        'Intended Audience :: Science/Research',
        'Operating System :: OS Independent',
        'Programming Language :: Python :: 3',
        'Programming Language :: Python :: 3.10',
        'Programming Language :: Python :: 3.11',
        'Programming Language :: Python :: 3.12',
        'Topic :: Scientific/Engineering :: Image Recognition',
    ],
    zip_safe=False,
)
