"""From folders that people made to configs, and once to a report."""

import sys

import numpy as np
import pytest
from mmengine.config import Config
from mmseg.registry import DATASETS
from PIL import Image

from ..test_datasets.folders import paint
from .project import run
from .scripts import load_script

FOUR = (0, 1, 2, 3)
FOLDERS = [
    dict(layout='folder by annotator', annotators=(2, 4), deep=True),
    dict(layout='ours', annotators=(3,), classes=4, ids=FOUR),
    dict(layout='folder by image', annotators=(1,), sizes=((130, 170),)),
]


@pytest.fixture
def start(tmp_path, monkeypatch):
    """The script in an empty folder; trying configs takes no time."""
    monkeypatch.chdir(tmp_path)
    script = load_script('start.py')
    monkeypatch.setattr(script, 'measure', lambda path: ('', 0.5, 0.01))
    monkeypatch.setattr(script, 'apart', lambda f, *args: f(*args))
    return script


def call(script, monkeypatch, *words):
    monkeypatch.setattr(sys, 'argv', ['start.py', *map(str, words)])
    script.main()


@pytest.mark.parametrize('kind', FOLDERS)
def test_configs_give_what_lies_in_the_folder(
    start, monkeypatch, tmp_path, kind
):
    data = paint(tmp_path / 'data', images=12, **kind)
    call(start, monkeypatch, data)
    classes = kind.get('classes', 2)
    sizes = {(64, 64)} if 'sizes' not in kind else {(128, 128)}
    seen = []
    for name in ('training_free', 'tuned'):
        cfg = Config.fromfile(tmp_path / f'work_dirs/data/{name}.py')
        assert cfg.model.decode_head.num_classes == classes
        for split in ('train', 'val', 'test'):
            images = DATASETS.build(cfg[f'{split}_dataloader'].dataset)
            for i in range(len(images)):
                sample = images[i]['data_samples']
                labels = sample.gt_sem_segs.data
                assert len(labels) in kind['annotators']
                inputs = images[i]['inputs']
                assert inputs.shape[1:] == labels.shape[1:]
                assert split == 'train' or 100 < inputs.max() <= 255
                found = {*labels.unique().tolist()} - {255}
                assert found <= {*range(classes)}
                assert len(found) > 1 or split == 'train'
                if split == 'train':
                    assert tuple(inputs.shape[1:]) in sizes
                seen.append(sample.img_path)
    assert len(seen) == 2 * len({*seen}) == 24


def test_files_that_were_changed_stay(start, monkeypatch, tmp_path):
    data = paint(tmp_path / 'data', 'masks by annotator', 12)
    out = tmp_path / 'work_dirs/data'

    def texts():
        return {f.name: f.read_text() for f in out.iterdir() if f.is_file()}

    call(start, monkeypatch, data)
    first = texts()
    call(start, monkeypatch, data)
    assert texts() == first
    call(start, monkeypatch, data, '--minutes', 60)
    longer = texts()
    assert longer['train.csv'] == first['train.csv']
    assert longer['training_free.py'] != first['training_free.py']
    for name in ('training_free.py', 'val.csv'):
        before = (out / name).read_text()
        (out / name).write_text(before + '\n')
        changed = texts()
        call(start, monkeypatch, data, '--minutes', 10)
        assert texts() == changed
        (out / name).write_text(before)
    call(start, monkeypatch, data, '--minutes', 10)
    assert texts()['training_free.py'] not in (
        first['training_free.py'],
        longer['training_free.py'],
    )


def test_broken_folders_end_in_a_list(start, monkeypatch, tmp_path, capsys):
    data = paint(tmp_path / 'data', 'masks by annotator', 12)
    broken = [data / 'images/case03.png', data / 'masks_b/case05.png']
    for path in broken:
        path.write_bytes(b'no image')
    with pytest.raises(SystemExit) as stop:
        call(start, monkeypatch, data)
    assert stop.value.code == 2
    said = capsys.readouterr().out
    assert all(str(path) in said for path in broken)
    assert not (tmp_path / 'work_dirs').exists()


def test_values_choose_how_they_are_read(start, monkeypatch, tmp_path):
    data = paint(tmp_path / 'a', 'masks by annotator', 12, deep=True)
    call(start, monkeypatch, data)
    alike = (tmp_path / 'work_dirs/a/training_free.py').read_text()
    assert 'WindowIntensity' in alike
    data = paint(tmp_path / 'b', 'masks by annotator', 12, deep=True)
    image = np.array(Image.open(data / 'images/case00.png'))
    Image.fromarray((image * 4).astype(np.uint16)).save(
        data / 'images/case00.png'
    )
    call(start, monkeypatch, data)
    differ = (tmp_path / 'work_dirs/b/training_free.py').read_text()
    assert 'NormalizePercentiles' in differ


@pytest.mark.parametrize(('patients', 'enough'), [(18, True), (17, False)])
def test_promises_need_nine_patients_to_fit_on(
    start, monkeypatch, tmp_path, patients, enough
):
    ids = (0, 1, 2)
    paint(tmp_path / 'data', 'ours', 12, classes=3, ids=ids)
    call(start, monkeypatch, tmp_path / 'data')
    rows = [f'{p}_{i}.png,m.png,p{p}' for p in range(patients) for i in (0, 1)]
    text = '\n'.join(['image,annotation,patient', *rows])
    out = tmp_path / 'work_dirs/data'
    (out / 'val.csv').write_text(text)
    steps = start.steps(out, out / 'run', 'tuned')
    found = [command for title, _, command in steps if 'Promise' in title]
    assert bool(found) == enough
    assert not found or found[0][-2:] == ['class_1', 'class_2']


@pytest.mark.slow
@pytest.mark.parametrize('kind', FOLDERS)
def test_a_run_ends_with_a_report(tmp_path, kind):
    data = paint(tmp_path / 'data', images=16, **kind)
    words = ('tools/start.py', data, '--minutes', '0.2', '--run')
    out = tmp_path / 'out'
    done = run(*words, '--out', out)
    assert done.returncode == 0, done.stderr[-3000:]
    (folder,) = out.glob('run_*')
    assert (folder / 'report.html').is_file()
    assert (folder / 'calibrated.json').is_file()
    again = run(*words, '--out', out)
    assert again.returncode == 0 and again.stdout.count('done before') == 7
