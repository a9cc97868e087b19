"""Versions, the stand-in for mmcv.ops, and loading without running code."""

import functools
import http.server
import importlib.util
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import mmseg
import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.hub import get_config
from mmengine.logging.history_buffer import HistoryBuffer
from mmengine.runner import CheckpointLoader, load_checkpoint
from mmseg.models import SegDataPreProcessor
from packaging.version import Version

from mmcar import compat

MMSEG = compat.Requirement('mmseg', '1.2', '2.0', 'pip install mmseg==1.2.2')


class MakesFile:
    """Pickles into a call that creates the file ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


class TestCheckVersions:
    @pytest.mark.parametrize('found', ['1.2.0', '1.2.2', '1.4.2'])
    def test_accepts(self, found):
        compat.check_version(MMSEG, found)

    @pytest.mark.parametrize('found', ['0.30.0', '1.1.9', '2.0.0'])
    def test_names_found_needed_and_fix(self, found):
        with pytest.raises(ImportError) as error:
            compat.check_version(MMSEG, found)
        for part in (found, '>= 1.2, < 2.0', 'pip install mmseg==1.2.2'):
            assert part in str(error.value)

    def test_missing(self, monkeypatch):
        needed = compat.Requirement('no_such_package', '1', '2', 'pip it')
        monkeypatch.setattr(compat, 'REQUIREMENTS', (needed,))
        with pytest.raises(ImportError, match=r'not installed\. Fix: pip it'):
            compat.check_versions()

    def test_old_package_in_the_way(self, tmp_path):
        """The whole way: `import mmcar` where an old MMSeg is installed."""
        package = tmp_path / 'mmseg'
        package.mkdir()
        (package / '__init__.py').write_text("__version__ = '0.30.0'\n")
        script = f'import sys; sys.path.insert(0, {str(tmp_path)!r})\n'
        result = subprocess.run(
            [sys.executable, '-c', script + 'import mmcar'],
            capture_output=True,
            text=True,
        )
        assert result.returncode != 0
        last = result.stderr.strip().splitlines()[-1]
        assert 'version 0.30.0 is installed' in last
        assert 'pip install mmsegmentation==1.2.2' in last

    def test_mmseg_that_refuses_mmcv(self, tmp_path, monkeypatch):
        (tmp_path / 'refusing.py').write_text('assert False, "mmcv too new"')
        monkeypatch.syspath_prepend(tmp_path)
        needed = compat.Requirement('refusing', '1', '2', '')
        monkeypatch.setattr(compat, 'REQUIREMENTS', (needed,))
        with pytest.raises(ImportError, match='pip install mmcv-lite'):
            compat.check_versions()


LITE = importlib.util.find_spec('mmcv._ext') is None
OFFICIAL = Version(mmseg.__version__) < compat.MMSEG_WITHOUT_OPS


class TestOps:
    @pytest.mark.skipif(not (LITE and OFFICIAL), reason='no stand-in here')
    def test_missing_op_complains_when_used(self):
        from mmcv.ops import DeformConv2d, point_sample

        assert isinstance(DeformConv2d, type)
        with pytest.raises(ImportError, match='point_sample needs the comp'):
            point_sample(torch.zeros(1), torch.zeros(1))

        class Derived(DeformConv2d):
            pass

        with pytest.raises(ImportError, match='DeformConv2d'):
            Derived(3, 4, kernel_size=3)

    def test_full_mmcv_stays(self, monkeypatch):
        real = ModuleType('mmcv.ops')
        monkeypatch.setitem(sys.modules, 'mmcv.ops', real)
        monkeypatch.setattr(importlib.util, 'find_spec', lambda name: object())
        compat.provide_mmcv_ops()
        assert sys.modules['mmcv.ops'] is real

    def test_import_is_quiet(self):
        command = 'import mmcar, mmseg.models, mmseg.apis'
        result = subprocess.run(
            [sys.executable, '-c', command], capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
        assert 'Fail to import' not in result.stderr


def test_stock_configs_are_found():
    cfg = get_config('mmseg::unet/unet-s5-d16_fcn_4xb4-40k_hrf-256x256.py')
    assert cfg.model.type == 'EncoderDecoder'
    base = Config._get_cfg_path('mmseg::_base_/default_runtime.py', '')
    assert Path(base[0]).is_file()


@pytest.mark.parametrize('swap', [True, False])
def test_swaps_channels(swap):
    """By what the installed MMSeg does to an image, not by attribute."""
    own = SegDataPreProcessor(
        mean=[0.0] * 3, std=[1.0] * 3, bgr_to_rgb=swap, size=(1, 1)
    )
    image = torch.arange(3).view(3, 1, 1)
    seen = own(dict(inputs=[image]))['inputs'].flatten().tolist()
    assert (seen == [2, 1, 0]) == swap == compat.swaps_channels(own)


class TestLoading:
    def save(self, path: Path, **entries: object) -> str:
        torch.save({'state_dict': {'w': torch.ones(2)}, **entries}, path)
        return str(path)

    def test_what_mmengine_saves(self, tmp_path):
        history = HistoryBuffer([1.0, 2.0], [1, 1])
        path = self.save(
            tmp_path / 'a.pth',
            meta=dict(iter=3, seed=np.int64(4)),
            message_hub=dict(log_scalars=dict(loss=history)),
            extra=[np.float32(1), np.bool_(True), np.arange(3, dtype='u1')],
        )
        loaded = CheckpointLoader.load_checkpoint(path)
        scalars = loaded['message_hub']['log_scalars']
        assert scalars['loss'].mean() == 1.5
        assert loaded['meta'] == dict(iter=3, seed=4)

    def test_code_is_refused_and_not_run(self, tmp_path):
        trap = tmp_path / 'trap'
        path = self.save(tmp_path / 'bad.pth', hook=MakesFile(trap))
        with pytest.raises(ValueError, match='could run code') as error:
            load_checkpoint(torch.nn.Linear(1, 1), path)
        assert 'bad.pth' in str(error.value)
        assert len(str(error.value)) < 500
        assert not trap.exists()
        torch.load(path, weights_only=False)
        assert trap.exists()  # the trap was live

    def test_getattr_is_no_way_out(self, tmp_path):
        class Reaches:
            def __reduce__(self):
                return getattr, (HistoryBuffer, '__init__')

        path = self.save(tmp_path / 'bad.pth', hook=Reaches())
        with pytest.raises(ValueError, match=r'is refused.*__init__'):
            CheckpointLoader.load_checkpoint(path)

    def test_plain_pickle_is_refused(self, tmp_path):
        trap = tmp_path / 'trap'
        path = tmp_path / 'bad.pth'
        path.write_bytes(pickle.dumps(MakesFile(trap)))
        with pytest.raises(ValueError, match='is refused'):
            CheckpointLoader.load_checkpoint(str(path))
        assert not trap.exists()

    def test_config_string_is_dropped(self, tmp_path):
        """`Runner.resume` would run it as Python."""
        path = self.save(tmp_path / 'a.pth', meta=dict(config='1/0', iter=1))
        assert CheckpointLoader.load_checkpoint(path)['meta'] == dict(iter=1)

    def test_truncated(self, tmp_path):
        path = Path(self.save(tmp_path / 'a.pth', more=torch.zeros(1000)))
        path.write_bytes(path.read_bytes()[:2000])
        with pytest.raises(ValueError, match=r'a\.pth cannot be read'):
            CheckpointLoader.load_checkpoint(str(path))

    @pytest.mark.parametrize('content', [b'', b'<html>', b'\x00' * 50])
    def test_something_else(self, tmp_path, content):
        path = tmp_path / 'page.pth'
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r'page\.pth'):
            CheckpointLoader.load_checkpoint(str(path))

    def test_absent(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r'no checkpoint .*x\.pth'):
            CheckpointLoader.load_checkpoint(str(tmp_path / 'x.pth'))

    def test_by_url(self, tmp_path, monkeypatch):
        monkeypatch.setenv('TORCH_HOME', str(tmp_path / 'cache'))
        trap = tmp_path / 'trap'
        self.save(tmp_path / 'good.pth')
        self.save(tmp_path / 'bad.pth', hook=MakesFile(trap))
        handler = functools.partial(
            http.server.SimpleHTTPRequestHandler, directory=str(tmp_path)
        )
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f'http://127.0.0.1:{server.server_port}'
        try:
            loaded = CheckpointLoader.load_checkpoint(f'{url}/good.pth')
            assert loaded['state_dict']['w'].tolist() == [1, 1]
            with pytest.raises(pickle.UnpicklingError):
                CheckpointLoader.load_checkpoint(f'{url}/bad.pth')
        finally:
            server.shutdown()
        assert not trap.exists()
