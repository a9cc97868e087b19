"""Results name the commit that made them."""

import subprocess

from ..commit import current_commit


def git(folder, *arguments):
    settings = ['-c', 'user.name=a', '-c', 'user.email=a@b.c']
    command = ['git', '-C', str(folder), *settings, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True)


def test_commit_of_a_checkout_wherever_the_caller_is(tmp_path, monkeypatch):
    monkeypatch.chdir('/')
    git(tmp_path, 'init')
    git(tmp_path, 'commit', '--allow-empty', '-m', 'first')
    shown = git(tmp_path, 'log', '-1', '--format=%H').stdout.strip()
    assert current_commit(tmp_path) == shown


def test_none_outside_of_a_checkout_and_without_git(tmp_path, monkeypatch):
    monkeypatch.setenv('GIT_CEILING_DIRECTORIES', str(tmp_path.parent))
    assert current_commit(tmp_path) is None
    monkeypatch.setenv('PATH', str(tmp_path))
    assert current_commit(tmp_path) is None
