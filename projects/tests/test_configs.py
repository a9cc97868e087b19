"""Configs of projects hold what those of configs/ do."""

import pytest

from tests.test_configs import check_bases, check_config
from tests.test_tools.project import ROOT

FILES = sorted(ROOT.glob('projects/*/configs/**/*.py'))
BASES = [path for path in FILES if '_base_' in path.parts]
CONFIGS = [str(path.relative_to(ROOT)) for path in FILES if path not in BASES]


@pytest.mark.parametrize('path', CONFIGS)
def test_builds(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    check_config(path)


def test_bases_know_of_no_work_dir():
    check_bases(BASES)
