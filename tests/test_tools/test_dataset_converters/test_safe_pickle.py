import os
import pickle

import numpy as np
import pytest

from ..scripts import load_script

load_plain_pickle = load_script(
    'dataset_converters/safe_pickle.py'
).load_plain_pickle


class Attack:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize('protocol', [0, 2, 5])
def test_arrays_come_back(tmp_path, protocol):
    data = {
        'a': {
            'image': np.random.rand(4, 5).astype(np.float32),
            'masks': [np.eye(4, 5, dtype=np.uint8)] * 4,
            'series_uid': '1.2.3',
            'number': np.float64(0.5),
            'bytes': b'\x00\xff',
        }
    }
    path = tmp_path / 'data.pickle'
    path.write_bytes(pickle.dumps(data, protocol))
    loaded = load_plain_pickle(path)['a']
    np.testing.assert_array_equal(loaded['image'], data['a']['image'])
    np.testing.assert_array_equal(loaded['masks'][3], np.eye(4, 5))
    assert loaded['number'] == 0.5 and loaded['bytes'] == b'\x00\xff'


def test_arrays_of_older_numpy_come_back(tmp_path):
    text = pickle.dumps(np.arange(3), 0).replace(b'numpy._core', b'numpy.core')
    path = tmp_path / 'old.pickle'
    path.write_bytes(text)
    assert load_plain_pickle(path).tolist() == [0, 1, 2]


@pytest.mark.parametrize('protocol', [0, 2, 5])
def test_code_does_not_run(tmp_path, protocol):
    target = tmp_path / 'broken-in'
    path = tmp_path / 'evil.pickle'
    path.write_bytes(pickle.dumps({'a': [Attack(target)]}, protocol))
    with pytest.raises(ValueError, match=r'evil\.pickle: refused.*mkdir'):
        load_plain_pickle(path)
    assert not target.exists()
    pickle.loads(path.read_bytes())  # the attack itself is real
    assert target.exists()


@pytest.mark.parametrize(
    'code',
    [
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"cnumpy\nload\n(S'x'\ntR.",
        b"cbuiltins\ngetattr\n(cnumpy\nndarray\nS'__class__'\ntR.",
        b'c_codecs\nencode\n(Vx\nVrot13\ntR.',
    ],
)
def test_other_callables_are_refused(tmp_path, code):
    path = tmp_path / 'evil.pickle'
    path.write_bytes(code)
    with pytest.raises(ValueError, match='refused'):
        load_plain_pickle(path)


def test_truncated_pickle_is_named(tmp_path):
    path = tmp_path / 'short.pickle'
    path.write_bytes(pickle.dumps(np.arange(1000))[:500])
    with pytest.raises(ValueError, match=r'short\.pickle'):
        load_plain_pickle(path)
