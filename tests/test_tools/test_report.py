"""The tool as users call it; what it writes: tests/test_apis."""

import re

from tests.test_apis.report_project import report_config, write_cells
from tests.test_tools.project import ROOT, run

TOOL = ROOT / 'tools' / 'analysis_tools' / 'report.py'


def test_a_report_with_an_unreadable_image(tmp_path):
    write_cells(tmp_path / 'data', images=3)
    (tmp_path / 'data' / 'images' / 'val' / '2.png').write_bytes(b'broken')
    config = tmp_path / 'cells.py'
    report_config(tmp_path).dump(config)
    done = run(TOOL, config, '--out', tmp_path / 'out' / 'r.html')
    assert done.returncode == 1, done.stderr
    assert re.search(r'out/r\.html: [1-9]\d* kB', done.stdout)
    assert 'report.py: unreadable:' in done.stderr and '2.png' in done.stderr
    assert 'Traceback' not in done.stderr
    names = {path.name for path in (tmp_path / 'out').iterdir()}
    assert names == {'r.html', 'r.csv', 'r.json'}
