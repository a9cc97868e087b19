"""The fixtures of tests/ serve the projects' tests, too."""

from tests.conftest import mmseg_scope, pytest_runtest_setup, real_data

__all__ = ['mmseg_scope', 'pytest_runtest_setup', 'real_data']
