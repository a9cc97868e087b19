import json
import statistics

import pytest

from mmcar.utils.errors import MissingFileError

from ..cpu_experiments.running import Experiments
from ..cpu_experiments.suite import Row
from ..cpu_experiments.summary import read_summary, summarise

ROW = Row('bubil', 'gumbel', 'calibration', 'training-free', 2)


def test_record_of_a_row(commands, tmp_path):
    suite = Experiments(tmp_path)
    for seed in (0, 1):
        suite.test(ROW, seed)
    found = summarise([ROW], suite)['bubil/gumbel/normal']
    # The tests were the second and the fourth command.
    values = [0.1 * 2, 0.1 * 4]
    assert found['mean'] == {'GED_16': statistics.mean(values), 'ECE': 0.5}
    assert found['spread']['GED_16'] == statistics.stdev(values)
    assert found['per_seed'][1]['GED_16'] == values[1]
    assert found['seeds'] == 2
    # Those of F: its G is training-free. No training is its own.
    assert found['parameters'] == 30000
    assert 'minutes' not in found


def test_costs_of_a_trained_row(commands, tmp_path):
    row, suite = Row('bubil', 'recipe', 'recipe', '', 1), Experiments(tmp_path)
    suite.test(row, 0)
    found = summarise([row], suite)[row.key]
    assert found['parameters'] == 50000
    assert found['minutes'] == 2.0
    assert found['spread'] == {}


def test_scores_of_another_version_are_left_out(commands, tmp_path, capsys):
    Experiments(tmp_path).test(ROW, 0)
    changed = (['optim_wrapper.calibration.optimizer.lr=1'],)
    assert summarise([ROW], Experiments(tmp_path, *changed)) == {}
    assert 'Left out' in capsys.readouterr().out
    kept = Experiments(tmp_path, *changed, keep_old=True)
    assert list(summarise([ROW], kept)) == ['bubil/gumbel/normal']


def test_bounds(tmp_path):
    names = ('perfect sampler', 'random threshold of the mean')
    names += ('argmax of the mean', 'independent pixels')
    scores = {name: {'GED_16': 0.1 * i} for i, name in enumerate(names)}
    path = tmp_path / 'bubil' / 'bounds.json'
    path.parent.mkdir()
    path.write_text(json.dumps(dict(scores=scores)))
    found = summarise([ROW], Experiments(tmp_path))
    assert found['bubil/bounds/argmax of the mean']['mean'] == {'GED_16': 0.2}
    assert len(found) == 4


def test_no_summary(tmp_path):
    with pytest.raises(MissingFileError, match=r'summary\.json of a work dir'):
        read_summary(tmp_path / 'summary.json')
