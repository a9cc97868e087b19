from tests.test_tools.project import ROOT

from ..cpu_experiments.suite import F_FROM, SUITE, TABLES

CONFIGS = ROOT / 'projects' / 'cpu_experiments' / 'configs'


def test_every_row_has_a_config_and_weights_from_a_config():
    names = [f'{row.group}/{row.name}' for row in SUITE]
    names += [f'{row.group}/{row.weights}' for row in SUITE if row.weights]
    names += list(F_FROM)
    for name in names:
        assert (CONFIGS / f'{name}.py').is_file(), name


def test_lines_of_a_table_are_rows_of_a_summary_each():
    for table in TABLES.values():
        titles, keys = zip(*table.lines, strict=True)
        assert len(set(titles)) == len(titles)
        assert len(set(keys)) == len(keys)
        assert {row.group for row in table.rows} == {table.group}


def test_titles():
    rows = {row.key: row.title for row in SUITE}
    assert rows['bubil/recipe/normal'] == 'mmcar recipe (`recipe`)'
    assert rows['bubil/recipe/sobol'] == 'mmcar recipe, Sobol noise'
