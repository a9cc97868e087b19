import errno
import json

import pytest

from mmcar.utils.files import inside, write_file, write_json


def test_a_file_is_replaced_as_a_whole(tmp_path, monkeypatch):
    path = tmp_path / 'new' / 'a.json'
    write_json(path, dict(a=1))
    with pytest.raises(TypeError):
        write_json(path, dict(a=object()))
    assert json.loads(path.read_text()) == dict(a=1)

    def fail(*_):
        raise OSError(errno.ENOSPC, 'disk full')

    monkeypatch.setattr('os.fsync', fail)
    with pytest.raises(OSError, match=r'disk full.*a\.json'):
        write_file(path, b'half')
    assert json.loads(path.read_text()) == dict(a=1)


def test_paths_stay_inside(tmp_path):
    assert inside(tmp_path, 'a/b.png') == tmp_path / 'a' / 'b.png'
    for name in ('../b.png', 'a/../../b.png', '/etc/passwd'):
        with pytest.raises(ValueError, match='leads out of'):
            inside(tmp_path, name)
