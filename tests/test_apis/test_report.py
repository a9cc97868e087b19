import csv
import json
import math

import numpy as np
import pytest
from mmengine.config import Config
from mmseg.registry import DATASETS

from mmcar.apis import build_report
from mmcar.apis.report import Selection
from mmcar.inference.model_loading import load_model
from mmcar.inference.promises import fit_promises
from mmcar.utils.errors import UserError
from tests.test_report.test_page.reading import read_page
from tests.test_report.test_page.unpacking import unpack, unpack_maps
from tests.test_tools.project import loader

from .report_project import report_config, write_cells


@pytest.fixture(scope='module')
def cells(tmp_path_factory):
    """Config of a data set of cells with four annotators, and its folder."""
    folder = tmp_path_factory.mktemp('cells')
    write_cells(folder / 'data')
    return report_config(folder), folder


def test_all_files_and_their_figures(cells):
    cfg, folder = cells
    files = build_report(cfg, out=folder / 'a' / 'report.html', figures=True)
    with open(files.csv, newline='') as file:
        rows = list(csv.DictReader(file))
    figures = json.loads(files.json.read_text())
    assert [row['image'] for row in rows] == [f'val/{i}.png' for i in range(5)]
    mean = np.mean([float(row['GED']) for row in rows])
    assert figures['scores']['GED_8'] == pytest.approx(mean)
    assert files.scores['GED_8'] == pytest.approx(mean)
    perfect = figures['bounds']['perfect sampler']['GED_8']
    assert 0 <= perfect < figures['bounds']['argmax of the mean']['GED_8']
    assert [row['image'] for row in figures['images']] == figures['opened']
    assert 'bins' not in rows[0] and 'bins' in figures['images'][0]
    heads = {(p.suffix, p.read_bytes()[1:4]) for p in files.figures}
    assert heads == {('.png', b'PNG'), ('.pdf', b'PDF')}
    assert not list(folder.glob('a/**/*.part'))


def test_samples_are_those_of_the_inferencer(cells):
    """Whatever is asked for, the first k of more samples are the k."""
    cfg, folder = cells
    few, many = (
        build_report(cfg, out=folder / f'{n}.html', num_samples=n, seed=5)
        for n in (3, 9)
    )
    for i in range(5):
        _, _, some = unpack_maps(read_page(few.html).images[i])
        _, labels, more = unpack_maps(read_page(many.html).images[i])
        np.testing.assert_array_equal(some, more[:3])
        # Discs of all annotators, and draws that lie between them.
        assert labels.sum((1, 2)).tolist() == sorted(labels.sum((1, 2)))
        assert (more <= labels.max(0)).all() and (more >= labels.min(0)).all()
    other = build_report(cfg, out=folder / 'o.html', num_samples=9, seed=6)
    _, _, drawn = unpack_maps(read_page(other.html).images[4])
    assert (drawn != more).any()


def test_promises_are_tried_on_images_that_they_do_not_know(cells, tmp_path):
    cfg, _ = cells
    write_cells(tmp_path / 'data', images=7)
    for kind in ('images', 'annotations'):
        folder = tmp_path / 'data' / kind
        (folder / 'val').rename(folder / 'other')
    other = Config(cfg.to_dict())
    other.test_dataloader = loader(tmp_path / 'data', 'other')
    path = tmp_path / 'cells.json'
    fit_promises(
        load_model(other, device='cpu'),
        other.model,
        DATASETS.build(other.test_dataloader.dataset),
        ('region', 'samples', 'area'),
        {'cell': 1},
        alpha=0.3,
    ).save(path)
    files = build_report(cfg, out=tmp_path / 'r.html', promises=path)
    found = json.loads(files.json.read_text())['promises']['classes']['cell']
    every = found.pop('all images')
    assert every['images'] == sum(g['images'] for g in found.values()) == 5
    # F knows the labels: what is drawn is what annotators mark.
    assert every['held']['region']['held'] >= 0.7
    assert every['held']['area']['units'] == 5
    page = read_page(files.html)
    (promise,) = page.images[0]['promises']
    assert promise['class_id'] == 1 and promise['hypotheses'] >= 1
    assert set(np.unique(unpack(promise['regions']))) == {0, 1, 3}
    assert 'not for clinical decisions' in files.html.read_text()
    with pytest.raises(UserError, match='fitted on'):
        build_report(other, out=tmp_path / 'r.html', promises=path)


def test_draws_that_are_not_independent_are_told(cells):
    cfg, folder = cells
    files = build_report(
        cfg,
        out=folder / 'noise.html',
        cfg_options={'model.noise': dict(type='SobolNoise')},
        max_images=0,
        bounds=False,
    )
    facts = json.loads(files.json.read_text())['facts']
    assert facts['draws'].startswith('not independent')
    assert facts['draws'] in read_page(files.html).text


def test_training_curves_stand_beside_the_checkpoint(cells):
    cfg, folder = cells
    log = folder / 'work' / '1' / 'vis_data' / 'scalars.json'
    log.parent.mkdir(parents=True)
    entries = [dict(loss=1 / (i + 1), step=i, time=0.1) for i in range(900)]
    log.write_text('\n'.join(map(json.dumps, entries)))
    files = build_report(
        cfg, out=folder / 'curves.html', work_dir=folder / 'work'
    )
    steps, values = read_page(files.html).data['curves']['loss']
    assert (steps[0], steps[-1], values[-1]) == (0, 899, 1 / 900)
    assert len(steps) < 300


def test_what_cannot_work_is_refused_before_the_first_image(
    cells, tmp_path, monkeypatch
):
    cfg, _ = cells
    monkeypatch.setattr('mmcar.apis.report.collect', None)
    (tmp_path / 'file').write_text('in the way')
    for change, words in (
        (dict(out=tmp_path / 'report.txt'), 'name of a page'),
        (dict(out=tmp_path / 'file/r.html'), 'no files can be written'),
        (dict(max_images=-1), 'max_images'),
        (dict(max_side=1), 'max_side'),
        (dict(num_samples=0), 'num_samples'),
        (dict(cfg_options={'test_dataloader': None}), 'test_dataloader'),
        (dict(cfg_options={'model.decode_head.num_classes': 3}), '3 classes'),
    ):
        options = dict(out=tmp_path / 'r.html') | change
        with pytest.raises(UserError, match=words):
            build_report(cfg, **options)
    assert not (tmp_path / 'r.html').exists()


def choose(scores, limit):
    selection = Selection(len(scores), limit)
    made = []
    for i, score in enumerate(scores):
        selection.offer(i, score, lambda i=i: made.append(i) or f'image {i}')
    return selection.chosen(), made


@pytest.mark.parametrize('limit', [7, 8])
def test_half_are_spread_and_half_are_worst(limit):
    scores = np.random.default_rng(3).permutation(50).tolist()
    chosen, _ = choose(scores, limit)
    spread = [round(i * 49 / 3) for i in range(4)]
    others = sorted(set(range(50)) - set(spread), key=lambda i: scores[i])
    assert list(chosen) == sorted(spread + others[-(limit - 4) :])
    assert chosen[49] == 'image 49'


def test_which_images_are_made():
    nan = math.nan
    chosen, made = choose([0.3, nan, 0.1], 40)  # all of a small set
    assert list(chosen) == made == [0, 1, 2]
    chosen, _ = choose([0.0, nan, 0.2, nan, 0.1, 0.0], 4)
    assert list(chosen) == [0, 2, 4, 5]
    assert choose([0.1, 0.2], 0) == ({}, [])
    falling = [1 - i / 1000 for i in range(1000)]
    assert len(choose(falling, 10)[1]) == 10  # no more than are kept
