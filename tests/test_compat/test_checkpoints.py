"""Every way into a checkpoint: data comes in, code does not run."""

import functools
import hashlib
import logging
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from mmengine.logging.history_buffer import HistoryBuffer
from mmengine.runner import CheckpointLoader, Runner, load_checkpoint
from mmengine.runner import checkpoint as mmengine_checkpoint
from mmengine.runner.checkpoint import _load_checkpoint_with_prefix

from mmcar.compat.checkpoints import published_hash
from mmcar.utils.errors import UserError
from tests.test_compat.traps import MakesFile, served


def save(path: Path, **entries: object) -> str:
    torch.save({'state_dict': {'w': torch.ones(2)}, **entries}, path)
    return str(path)


class TestLocal:
    def test_what_mmengine_saves(self, tmp_path):
        history = HistoryBuffer([1.0, 2.0], [1, 1])
        path = save(
            tmp_path / 'a.pth',
            meta=dict(iter=3, seed=np.int64(4)),
            message_hub=dict(log_scalars=dict(loss=history)),
            extra=[np.float32(1), np.bool_(True), np.arange(3, dtype='u1')],
        )
        loaded = CheckpointLoader.load_checkpoint(path)
        scalars = loaded['message_hub']['log_scalars']
        assert scalars['loss'].mean() == 1.5
        assert loaded['meta'] == dict(iter=3, seed=4)

    @pytest.mark.parametrize('byte', [3, 7])
    def test_a_flipped_bit_is_found(self, tmp_path, byte):
        """Torch does not look at checksums: 1 would become infinity."""
        path = Path(save(tmp_path / 'flipped.pth'))
        content = bytearray(path.read_bytes())
        content[content.find(torch.ones(2).numpy().tobytes()) + byte] ^= 64
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r'flipped\.pth.*damaged'):
            CheckpointLoader.load_checkpoint(str(path))

    def test_getattr_is_no_way_out(self, tmp_path):
        class Reaches:
            def __reduce__(self):
                return getattr, (HistoryBuffer, '__init__')

        path = save(tmp_path / 'bad.pth', hook=Reaches())
        with pytest.raises(ValueError, match=r'is refused.*__init__'):
            CheckpointLoader.load_checkpoint(path)

    def test_plain_pickle_is_refused(self, tmp_path):
        trap = tmp_path / 'trap'
        path = tmp_path / 'bad.pth'
        path.write_bytes(pickle.dumps(MakesFile(trap)))
        with pytest.raises(ValueError, match='is refused'):
            CheckpointLoader.load_checkpoint(str(path))
        assert not trap.exists()

    def test_what_cannot_be_read(self, tmp_path):
        path = Path(save(tmp_path / 'a.pth', more=torch.zeros(1000)))
        for content in (path.read_bytes()[:2000], b'', b'<html>', bytes(50)):
            path.write_bytes(content)
            with pytest.raises(ValueError, match=r'a\.pth'):
                CheckpointLoader.load_checkpoint(str(path))
        path.unlink()
        with pytest.raises(FileNotFoundError, match=r'a\.pth'):
            CheckpointLoader.load_checkpoint(str(path))

    def test_package_of_a_scheme_is_missing(self, monkeypatch):
        monkeypatch.setitem(sys.modules, 'torchvision', None)
        with pytest.raises(UserError, match=r'here .*torchvision'):
            CheckpointLoader.load_checkpoint('torchvision://resnet50')


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Caches of torch and MMEngine in an empty folder."""
    monkeypatch.setenv('TORCH_HOME', str(tmp_path / 'cache'))
    monkeypatch.setenv('MMENGINE_HOME', str(tmp_path / 'mmengine'))
    # Python 3.10 has none.
    monkeypatch.delattr(hashlib, 'file_digest', raising=False)
    return tmp_path


class TestEveryWay:
    """The same two files by every scheme: one runs code, one holds a text."""

    @pytest.fixture
    def site(self, home):
        folder = home / 'site'
        folder.mkdir()
        save(folder / 'bites.pth', hook=MakesFile(home / 'trap'))
        text = f'open({str(home / "trap")!r}, "w")'
        torch.save(
            dict(
                state_dict={'backbone.w': torch.ones(2)},
                meta=dict(config=text, epoch=0, iter=1),
            ),
            folder / 'text.pth',
        )
        with served(folder) as url:
            yield SimpleNamespace(folder=folder, url=url, trap=home / 'trap')

    @pytest.fixture(params=['local', 'http', 'openmmlab', 'torchvision'])
    def name(self, request, site, monkeypatch) -> Callable[[str], str]:
        """From a file of the site to what a user would write for it."""
        urls = {s: f'{site.url}/{s}.pth' for s in ('bites', 'text')}
        for models in ('external', 'torchvision'):
            monkeypatch.setattr(
                mmengine_checkpoint, f'get_{models}_models', lambda: urls
            )
        return {
            'local': lambda s: str(site.folder / f'{s}.pth'),
            'http': urls.get,
            'openmmlab': lambda s: f'open-mmlab://{s}',
            'torchvision': lambda s: f'torchvision://{s}',
        }[request.param]

    def test_code_is_refused(self, site, name, monkeypatch):
        asked = 'TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD', '1'
        monkeypatch.setenv(*asked)  # not even then
        for load in (
            CheckpointLoader.load_checkpoint,
            lambda path: load_checkpoint(torch.nn.Linear(1, 1), path),
            lambda path: _load_checkpoint_with_prefix('a', path),
        ):
            with pytest.raises(ValueError, match='could run code') as error:
                load(name('bites'))
            assert name('bites') in str(error.value)
        assert not site.trap.exists()
        torch.load(site.folder / 'bites.pth', weights_only=False)
        assert site.trap.exists()  # the trap was live
        assert asked in os.environ.items()

    def test_text_is_dropped(self, name):
        loaded = CheckpointLoader.load_checkpoint(name('text'))
        assert 'config' not in loaded.get('meta', {})
        (weight,) = loaded['state_dict'].values()
        assert weight.tolist() == [1, 1]

    def test_resume_does_not_run_the_text(self, site):
        runner = SimpleNamespace(
            model=torch.nn.Module(),
            call_hook=lambda *args, **kwargs: None,
            logger=logging.getLogger('test'),
            train_loop=SimpleNamespace(),
        )
        runner.load_checkpoint = functools.partial(
            Runner.load_checkpoint, runner
        )

        def resume(path: str) -> None:
            # What follows the text needs more of a runner than there is.
            with pytest.raises(AttributeError):
                Runner.resume(runner, path)
            assert runner.train_loop._iter == 1

        resume(f'{site.url}/text.pth')
        assert not site.trap.exists()
        ungated = torch.load(site.folder / 'text.pth')
        runner.load_checkpoint = lambda path, map_location: ungated
        resume('the same')
        assert site.trap.exists()  # the trap was live

    def test_scheme_of_others(self, site, monkeypatch):
        """A loader that asks for the unsafe way does not get it."""

        def load_from_mine(filename, map_location=None):
            path = site.folder / filename.removeprefix('mine://')
            return torch.load(path, map_location, weights_only=False)

        schemes = dict(CheckpointLoader._schemes)
        monkeypatch.setattr(CheckpointLoader, '_schemes', schemes)
        CheckpointLoader.register_scheme('mine://', load_from_mine)
        with pytest.raises(ValueError, match='could run code'):
            CheckpointLoader.load_checkpoint('mine://bites.pth')
        assert not site.trap.exists()
        loaded = CheckpointLoader.load_checkpoint('mine://text.pth')
        assert loaded['meta'] == dict(epoch=0, iter=1)


def test_the_text_of_a_config_stays_if_it_is_data(tmp_path):
    """An inferencer without a config runs the one of the checkpoint."""
    for text in ("a = dict(b=[-1, 'c'])\n", "__import__('os').getcwd()"):
        hub = dict(runtime_info=dict(cfg=text, iter=3))
        path = save(tmp_path / 'a.pth', meta=dict(cfg=text), message_hub=hub)
        if text.startswith('a'):
            loaded = CheckpointLoader.load_checkpoint(path)
            assert loaded['meta']['cfg'] == text
            assert loaded['message_hub'] == hub
    with pytest.warns(UserWarning, match=r'a\.pth: its config'):
        loaded = CheckpointLoader.load_checkpoint(path)
    assert loaded['meta'] == {}
    assert loaded['message_hub']['runtime_info'] == dict(iter=3)


class TestHash:
    def publish(self, folder: Path, wrong: bool = False) -> str:
        """Write a file under a name with its hash; return the name."""
        content = Path(save(folder / 'a.pth')).read_bytes()
        digest = hashlib.sha256(b'other' if wrong else content).hexdigest()
        name = f'net_v0.5-b_20210101_120000-{digest[:8]}.pth'
        (folder / name).write_bytes(content)
        return name

    def test_right(self, home):
        name = self.publish(home)
        with served(home) as url:
            loaded = CheckpointLoader.load_checkpoint(f'{url}/{name}')
        assert loaded['state_dict']['w'].tolist() == [1, 1]
        # The second time it is there already.
        assert CheckpointLoader.load_checkpoint(f'{url}/{name}')

    def test_wrong(self, home):
        name = self.publish(home, wrong=True)
        with (
            served(home) as url,
            pytest.raises(ValueError, match='not what was published'),
        ):
            CheckpointLoader.load_checkpoint(f'{url}/{name}')
        kept = [p for p in (home / 'cache').rglob('*') if p.is_file()]
        assert kept == []

    def test_wrong_file_in_the_cache(self, home):
        """Another program may have left it there, without a look."""
        name = self.publish(home)
        kept = home / 'cache' / 'hub' / 'checkpoints' / name
        kept.parent.mkdir(parents=True)
        save(kept, of='something else')
        with pytest.raises(ValueError, match='not what was published'):
            CheckpointLoader.load_checkpoint(f'http://localhost/{name}')
        assert kept.exists()  # not ours to remove

    def test_one_name_at_two_addresses(self, home):
        """Without a hash in it, a name does not tell which file it is."""
        for number in (1, 2):
            (home / f'run{number}').mkdir()
            save(home / f'run{number}' / 'iter_8.pth', number=number)
        with served(home) as url:
            urls = [f'{url}/run{number}/iter_8.pth' for number in (1, 2)]
            loaded = [CheckpointLoader.load_checkpoint(u) for u in urls]
        assert [content['number'] for content in loaded] == [1, 2]
        again = [CheckpointLoader.load_checkpoint(u) for u in urls]
        assert [content['number'] for content in again] == [1, 2]

    def test_what_cannot_be_read_is_not_kept(self, home):
        (home / 'a.pth').write_bytes(b'<html>log in</html>')
        with served(home) as url:
            with pytest.raises(ValueError, match=r'a\.pth'):
                CheckpointLoader.load_checkpoint(f'{url}/a.pth')
            save(home / 'a.pth')
            assert CheckpointLoader.load_checkpoint(f'{url}/a.pth')
        with pytest.raises(ValueError, match=r'gone\.pth.*network'):
            CheckpointLoader.load_checkpoint(f'{url}/gone.pth')

    def test_which_names_have_one(self):
        for name, expected in {
            'resnet50_v1c-2cccc1ad.pth': '2cccc1ad',
            'a_20200605_094610-efa8aa92.pth?x=1': 'efa8aa92',
            'mine-20240131.pth': None,
            'iter_8000.pth': None,
        }.items():
            assert published_hash(f'https://host/x/{name}') == expected
