"""What is packaged and declared, and environments that are made safely."""

import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tests.test_tools.project import ROOT

# Import names that the official stack and its forks share.
STACK = {'mmengine', 'mmcv', 'mmseg'}
RESULTS = ROOT / 'projects' / 'cpu_experiments' / 'README.md'
OWN = {'mmcar', 'tools', 'tests', 'projects'}


def declared(name: str) -> set[str]:
    """The distributions that ``requirements/<name>.txt`` names."""
    lines = (ROOT / 'requirements' / f'{name}.txt').read_text().splitlines()
    lines = [line for line in lines if line and not line.startswith('#')]
    return {Requirement(line).name.lower() for line in lines}


def third_party_imports(path: Path) -> set[str]:
    """Top-level names that a file imports from other projects."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module)
    names = {name.partition('.')[0] for name in names}
    siblings = {file.stem for file in path.parent.iterdir()}
    return names - sys.stdlib_module_names - STACK - OWN - siblings


def imported_by(files: Iterable[Path]) -> set[str]:
    return set().union(*map(third_party_imports, files))


class TestRequirements:
    def missing(self, imports: set[str], allowed: set[str]) -> list[str]:
        owners = packages_distributions()
        return [
            name
            for name in sorted(imports)
            if not {d.lower() for d in owners.get(name, [name])} & allowed
        ]

    def test_imports_are_declared(self):
        files = {*ROOT.glob('mmcar/**/*.py'), *ROOT.glob('tools/**/*.py')}
        imports = imported_by(files)
        assert {'torch', 'cv2', 'rich'} <= imports
        names = ('runtime', 'figures', 'plugin', 'deploy')
        allowed = set().union(*map(declared, names))
        assert self.missing(imports, allowed) == []
        assert self.missing({'pytest'}, allowed) == ['pytest']

    def test_everything_is_pinned(self):
        pins = declared('constraints')
        names = ('runtime', 'figures', 'plugin', 'pure')
        for name in (*names, 'tests', 'docs', 'deploy', 'notebook'):
            assert declared(name) <= pins, name


# Runs in a process of its own: setuptools patches what it finds.
BUILD = """
import sys
from setuptools import build_meta
print(getattr(build_meta, 'build_' + sys.argv[1])(sys.argv[2]))
"""


class TestBuild:
    @pytest.fixture(scope='class')
    @classmethod
    def source(cls, tmp_path_factory) -> Path:
        """A copy of the repository without what is not under control."""
        folder = tmp_path_factory.mktemp('source')
        for name in (
            *('mmcar', 'configs', 'tools', 'requirements'),
            *('setup.py', 'pyproject.toml', 'MANIFEST.in', 'README.md'),
            *('model-index.yml', 'LICENSE'),
        ):
            copy = ['cp', '-r', str(ROOT / name), str(folder)]
            subprocess.run(copy, check=True)
        return folder

    def build(self, source: Path, kind: str, out: Path) -> Path:
        out.mkdir(exist_ok=True)
        result = subprocess.run(
            [sys.executable, '-c', BUILD, kind, str(out)],
            cwd=source,
            capture_output=True,
            text=True,
            env={k: v for k, v in os.environ.items() if k != 'PYTHONPATH'},
        )
        assert result.returncode == 0, result.stderr
        return out / result.stdout.splitlines()[-1]

    def test_wheel_of_the_sdist(self, source, tmp_path):
        sdist = self.build(source, 'sdist', tmp_path)
        shutil.unpack_archive(sdist, tmp_path)
        unpacked = tmp_path / sdist.name.removesuffix('.tar.gz')
        wheel = self.build(unpacked, 'wheel', tmp_path)
        names = zipfile.ZipFile(wheel).namelist()
        for extra in ('configs', 'tools'):
            expected = {
                f'mmcar/.mim/{path.relative_to(ROOT)}'
                for path in (ROOT / extra).rglob('*')
                if path.is_file() and '__pycache__' not in path.parts
            }
            assert expected
            assert expected <= set(names)
        assert 'mmcar/.mim/model-index.yml' in names
        modules = (ROOT / 'mmcar').rglob('*.py')
        assert {str(path.relative_to(ROOT)) for path in modules} <= set(names)

    def test_editable_leads_to_the_repository(self, source, tmp_path):
        wheel = self.build(source, 'editable', tmp_path / 'out')
        site = tmp_path / 'site'
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
        # A path file is what lets a folder without code lie beside it.
        paths = [f.read_text().split() for f in site.glob('*.pth')]
        assert paths == [[str(source)]]
        config = 'configs/quickstart/car_lidc-shapes.py'
        stand_in = site / 'mmcar' / '.mim' / config
        assert stand_in.read_text() == f'_base_ = {str(source / config)!r}\n'
        tool = site / 'mmcar' / '.mim' / 'tools' / 'train.py'
        result = subprocess.run(
            [sys.executable, str(tool), '--help'],
            capture_output=True,
            text=True,
            env={**os.environ, 'PYTHONPATH': f'{site}:{source}'},
        )
        assert result.returncode == 0, result.stderr
        assert '--resume' in result.stdout


# A `python` that makes environments of itself and writes down installations.
FAKE_PYTHON = """#!/bin/sh
log=$MMCAR_TEST_LOG
case "$2" in
venv) mkdir -p "$3/bin" "$3/lib"; cp "$0" "$3/bin/python"
      touch "$3/pyvenv.cfg"; echo made >> "$log";;
pip)  if [ -e "$MMCAR_TEST_FAIL" ]; then exit 1; fi
      echo "start $$" >> "$log"; sleep 0.1; echo "end $$" >> "$log";;
esac
"""


class TestEnvironments:
    @pytest.fixture(autouse=True)
    def fake_python(self, tmp_path):
        self.folder = tmp_path
        self.log = tmp_path / 'log'
        self.fail = tmp_path / 'fail'
        self.python = tmp_path / 'fake_python'
        self.python.write_text(FAKE_PYTHON)
        self.python.chmod(0o755)

    def start(self, venv: Path) -> subprocess.Popen:
        return subprocess.Popen(
            ['make', 'setup', f'VENV={venv}', f'PYTHON={self.python}'],
            cwd=ROOT,
            env={
                **os.environ,
                'MMCAR_TEST_LOG': str(self.log),
                'MMCAR_TEST_FAIL': str(self.fail),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def make(self, venv: Path) -> tuple[int, str]:
        process = self.start(venv)
        output = process.communicate(timeout=60)[0]
        return process.returncode, output

    def entries(self, kind: str) -> list[str]:
        lines = self.log.read_text().splitlines()
        return [line for line in lines if line.startswith(kind)]

    @pytest.mark.parametrize('name', ['data/', 'thesis.txt', 'my venv'])
    def test_what_is_of_somebody_stays(self, name):
        """A folder, a file, and a name that make cannot take; ever again."""
        (self.folder / 'data').mkdir()
        mine = [self.folder / f / 'thesis.txt' for f in ('data', '.')]
        for path in mine:
            path.write_text('years of work')
        for _ in range(2):
            code, output = self.make(f'{self.folder}/{name}')
            assert code != 0 and name.rstrip('/') in output
            assert [*mine[0].parent.iterdir()] == mine[:1]
            assert all(path.read_text() == 'years of work' for path in mine)
        assert not self.log.exists()

    def test_environment_of_somebody_is_never_removed(self):
        venv = self.folder / 'venv'
        (venv / 'bin').mkdir(parents=True)
        (venv / 'pyvenv.cfg').touch()
        mine = venv / 'lib' / 'mine.py'
        mine.parent.mkdir()
        mine.touch()
        (venv / 'bin' / 'python').symlink_to(self.python)
        self.fail.touch()
        assert self.make(venv)[0] != 0
        self.fail.unlink()
        assert self.make(venv)[0] == 0
        assert mine.exists()

    def test_cut_short_is_started_over(self):
        venv = self.folder / 'venv'
        self.fail.touch()
        assert self.make(venv)[0] != 0
        half = venv / 'lib' / 'half_installed.py'
        half.touch()
        mine = venv / 'notes.txt'
        mine.write_text('of the user')
        self.fail.unlink()
        code, output = self.make(venv)
        assert code == 0
        assert 'starting over' in output
        assert not half.exists()
        assert mine.read_text() == 'of the user'

    @pytest.mark.skipif(not shutil.which('flock'), reason='no flock here')
    def test_two_at_once(self):
        venv = self.folder / 'venv'
        both = [self.start(venv) for _ in range(2)]
        assert [p.wait(timeout=60) for p in both] == [0, 0]
        assert len(self.entries('made')) == 1
        lines = [x for x in self.log.read_text().splitlines() if ' ' in x]
        starts, ends = lines[::2], lines[1::2]
        assert [s.replace('start', 'end') for s in starts] == ends
        # The second found it done.
        alone = len(lines)
        self.log.unlink()
        assert self.make(self.folder / 'other')[0] == 0
        assert len(self.entries('start')) + len(self.entries('end')) == alone


def models_of(metafile: Path) -> list[dict]:
    return yaml.safe_load(metafile.read_text())['Models']


class TestIndex:
    index = yaml.safe_load((ROOT / 'model-index.yml').read_text())
    metafiles = [ROOT / path for path in index['Import']]

    def test_every_config_has_an_entry(self):
        listed = [m['Config'] for f in self.metafiles for m in models_of(f)]
        configs = [
            str(path.relative_to(ROOT))
            for path in (ROOT / 'configs').rglob('*.py')
            if '_base_' not in path.parts
        ]
        assert sorted(listed) == sorted(configs)

    @pytest.mark.parametrize(
        'metafile', metafiles, ids=lambda p: p.parent.name
    )
    def test_entries(self, metafile):
        content = yaml.safe_load(metafile.read_text())
        collections = {c['Name']: c for c in content['Collections']}
        for collection in collections.values():
            assert (ROOT / collection['README']).is_file()
        names = [model['Name'] for model in content['Models']]
        assert len(set(names)) == len(names)
        for model in content['Models']:
            assert model['In Collection'] in collections
            assert model['Name'] == Path(model['Config']).stem
            for result in model.get('Results', []):
                assert {'Task', 'Dataset', 'Metrics'} <= set(result)
                # Nobody shall take them for ours.
                assert all('paper' in name for name in result['Metrics'])

    def test_readme_shows_the_papers_figures(self):
        """Configs, figures and commands of the table are the metafile's."""
        page = (ROOT / 'configs' / 'car' / 'README.md').read_text()
        rows = dict(re.findall(r'^\| \[(\S+)\]\(\1\.py\) \|(.*)$', page, re.M))
        models = models_of(ROOT / 'configs' / 'car' / 'metafile.yaml')
        assert set(rows) == {model['Name'] for model in models}
        for model in models:
            row = rows[model['Name']]
            for result in model.get('Results', []):
                for value in result['Metrics'].values():
                    assert f'{value:.3f}' in row, model['Name']
            if not model.get('Results'):
                assert not re.search(r'\d\.\d\d\d', row.split('|')[1])

    def test_readme_shows_our_figures_as_measured(self):
        page = (ROOT / 'configs' / 'car' / 'README.md').read_text()
        ours = re.findall(r'\| ([.\d /]+) `([\w-]+)`[^|]* \|', page)
        assert len(ours) == 12
        rows = RESULTS.read_text().splitlines()
        for figures, name in ours:
            named = [row for row in rows if f'(`{name}`)' in row]
            scores = figures.split(' / ')
            assert any(
                all(f'| {score}' in row for score in scores) for row in named
            ), f'{name}: {figures}'
