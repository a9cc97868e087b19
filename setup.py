"""Packaging of mmcar; versions of the fresh-machine path: requirements/."""

from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent


def requirements(name: str) -> list[str]:
    """Return the requirement lines of ``requirements/<name>.txt``."""
    lines = (ROOT / 'requirements' / f'{name}.txt').read_text().splitlines()
    return [line for line in lines if line and not line.startswith('#')]


def version() -> str:
    """Return ``__version__`` without importing the package."""
    scope: dict[str, str] = {}
    exec((ROOT / 'mmcar' / 'version.py').read_text(), scope)
    return scope['__version__']


setup(
    name='mmcar',
    version=version(),
    description='Calibrated stochastic segmentation for MMSegmentation',
    long_description=(ROOT / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    keywords='segmentation, uncertainty, calibration, MMSegmentation',
    packages=find_packages(include=['mmcar', 'mmcar.*']),
    python_requires='>=3.10',
    install_requires=requirements('runtime'),
    extras_require={
        'official': requirements('official'),
        'onedl': requirements('onedl'),
        'tests': requirements('tests'),
        'deploy': requirements('deploy'),
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
