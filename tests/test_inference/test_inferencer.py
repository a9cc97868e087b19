import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from mmcv.transforms import Compose
from mmengine.model import revert_sync_batchnorm
from mmseg.registry import MODELS

from mmcar.apis import StochasticInferencer
from mmcar.inference.image_list import list_images
from tests.test_docs import code_blocks
from tests.test_inference.models import (
    own_config,
    read_bgr,
    save_weights,
    stock_config,
    write_images,
)

SIZES = ((16, 16), (16, 24), (16, 16), (24, 16), (16, 24), (16, 16))


def untrained(cfg, folder, **options):
    weights = save_weights(cfg, folder / 'weights.pth')
    return StochasticInferencer(cfg, weights, 'cpu', **options)


@pytest.fixture(scope='module')
def own(tmp_path_factory):
    return untrained(own_config(), tmp_path_factory.mktemp('own'))


@pytest.fixture(scope='module')
def stock(tmp_path_factory):
    return untrained(stock_config(), tmp_path_factory.mktemp('stock'))


@pytest.fixture(scope='module', params=['own', 'stock'])
def inferencer(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope='module')
def images(tmp_path_factory):
    return write_images(tmp_path_factory.mktemp('images') / 'val', SIZES)


def samples_of(results):
    return {result.name: result.samples for result in results}


def test_what_a_result_holds(inferencer, images):
    result = inferencer(images[1], num_samples=6)[0]
    number = len(inferencer.classes)
    assert result.samples.shape == (6, 16, 24)
    assert len(np.unique(result.samples, axis=0)) > 1
    assert result.image.shape == (16, 24, 3)
    np.testing.assert_array_equal(result.image, read_bgr(images[1])[..., ::-1])
    probs = result.class_probs
    assert probs.shape == result.sample_probs.shape == (number, 16, 24)
    np.testing.assert_array_equal(result.decision, probs.argmax(0))
    np.testing.assert_allclose(probs.sum(0), 1, atol=1e-5)
    one_hot = result.samples[:, None] == np.arange(number)[:, None, None]
    np.testing.assert_allclose(result.sample_probs, one_hot.mean(0), atol=1e-6)
    for entropy, maps in (
        (result.entropy, probs),
        (result.sample_entropy, result.sample_probs),
    ):
        expected = -(maps * np.log(np.where(maps > 0, maps, 1))).sum(0)
        np.testing.assert_allclose(entropy, expected, atol=1e-5)
    members = sorted(i for h in result.hypotheses for i in h.members)
    assert members == list(range(6))
    assert sum(h.probability for h in result.hypotheses) == pytest.approx(1)
    assert (result.boxplot is not None) == (number == 2)


def test_same_seed_same_samples(inferencer, images):
    """Whatever the batch size, the order and the number asked for."""
    before = dict(inferencer.model.test_cfg)
    usual = samples_of(inferencer(images, num_samples=16, seed=3))
    assert len(np.unique(usual['0'], axis=0)) > 3
    for change in (
        dict(batch_size=4),
        dict(inputs=images[::-1], batch_size=2),
        dict(num_samples=5, batch_size=3),
        dict(inputs=images[2:3], num_samples=7),
    ):
        given = dict(inputs=images, num_samples=16, seed=3) | change
        again = inferencer(**given)
        assert [r.path for r in again] == given['inputs']
        single = len(again) == 1
        for result in again:
            name = '2' if single else result.name
            expected = usual[name][: given['num_samples']]
            np.testing.assert_array_equal(result.samples, expected)
    other = samples_of(inferencer(images, num_samples=16, seed=4))
    assert (other['0'] != usual['0']).any()
    assert inferencer.model.test_cfg == before
    as_configured = inferencer(images[0])[0].samples
    assert len(as_configured) == before['num_samples']


def test_arrays_are_known_by_their_content(inferencer, images):
    first, second = read_bgr(images[0]), read_bgr(images[2])
    alone = inferencer(first, num_samples=8)[0].samples
    assert len(np.unique(alone, axis=0)) > 1
    results = inferencer(
        [second, first, read_bgr(images[1]), first], 8, batch_size=4
    )
    np.testing.assert_array_equal(results[1].samples, alone)
    np.testing.assert_array_equal(results[3].samples, alone)
    assert (results[0].samples != alone).any()


@pytest.mark.parametrize('pack', ['PackStochasticInputs', 'PackSegInputs'])
@pytest.mark.parametrize('kind', ['BaseSegDataset', 'MultiAnnotatorDataset'])
def test_samples_of_a_test_set_are_those_of_the_test(tmp_path, kind, pack):
    """As a runner gives them to the model, MMSeg's or ours; elsewhere, too."""
    image = write_images(tmp_path / 'set/val/p1', [(16, 16)])[0]
    cfg = own_config()
    dataset = cfg.test_dataloader.dataset
    dataset.update(
        type=kind,
        data_root=f'{tmp_path}/set',
        data_prefix=dict(img_path='val'),
    )
    dataset.pipeline[-1].type = pack
    inferencer = untrained(cfg, tmp_path)
    result = inferencer(image, 6)[0]
    steps = [s for s in dataset.pipeline if 'Annotations' not in s.type]
    results = dict(img_path=image, seg_fields=[], reduce_zero_label=False)
    if kind == 'MultiAnnotatorDataset':
        results['sample_key'] = 'val/p1/0.png'
    packed = Compose(steps)(results)
    batch = {key: [value] for key, value in packed.items()}
    inferencer.model.test_cfg['num_samples'] = 6
    (tested,) = inferencer.model.test_step(batch)
    assert np.array_equal(result.samples, tested.pred_samples.data)
    moved = tmp_path / 'elsewhere'
    shutil.copytree(tmp_path / 'set', moved / 'set')
    dataset.data_root = f'{moved}/set'
    other = untrained(cfg, tmp_path)
    again = other(f'{moved}/set/val/p1/0.png', 6)[0]
    assert np.array_equal(result.samples, again.samples)
    assert len(np.unique(result.samples, axis=0)) > 1


def test_a_stock_model_stays_what_it_was(stock, images):
    """Its decision and probabilities are those of MMSeg."""
    model = revert_sync_batchnorm(MODELS.build(stock.cfg.model)).eval()
    inner = stock.model.decode_head.black_box.segmentor
    model.load_state_dict(inner.state_dict())
    loaded = stock.load(list_images(images[1])[0]).packed
    data = dict(
        inputs=[loaded['inputs']], data_samples=[loaded['data_samples']]
    )
    with torch.no_grad():
        expected = model.test_step(data)[0]
    result = stock(images[1], num_samples=2)[0]
    probs = expected.seg_logits.data.softmax(0)
    np.testing.assert_allclose(result.class_probs, probs, atol=1e-5)
    wanted = expected.pred_sem_seg.data[0].numpy()
    np.testing.assert_array_equal(result.decision, wanted)


def test_a_stock_model_is_sampled_by_its_probabilities(stock, images):
    result = stock(images[0], num_samples=800)[0]
    error = np.abs(result.sample_probs - result.class_probs)
    assert error.max() < 5 * 0.5 / np.sqrt(800)


def test_the_pipeline_resizes_and_results_have_the_original_size(tmp_path):
    resize = dict(type='Resize', scale=(32, 32), keep_ratio=False)
    inferencer = untrained(stock_config(resize), tmp_path)
    path = write_images(tmp_path / 'x', [(12, 20)])[0]
    loaded = inferencer.load(list_images(path)[0]).packed
    assert loaded['inputs'].shape == (3, 32, 32)
    for result in inferencer([path, read_bgr(path)], num_samples=3):
        assert result.samples.shape == (3, 12, 20)
        assert result.image.shape == (12, 20, 3)


@pytest.mark.parametrize('config', [own_config, stock_config])
def test_windows_are_stitched_before_one_draw(config, tmp_path):
    path = write_images(tmp_path / 'x', [(32, 48)])[0]
    windows = {}, dict(window=(16, 16), stride=(12, 12)), dict(window=(32, 48))
    whole, cut, one_window = (
        untrained(config(), tmp_path, **window)(path, 4)[0]
        for window in windows
    )
    assert np.abs(whole.class_probs - cut.class_probs).max() > 1e-3
    assert whole.samples.shape == cut.samples.shape == (4, 32, 48)
    np.testing.assert_array_equal(one_window.samples, whole.samples)


def test_memory_is_bounded_by_waiting_batches(own, tmp_path, monkeypatch):
    """Images of many sizes do not pile up until the end."""
    sizes = [(16, 16 + k) for k in range(20)]
    listed = list_images(write_images(tmp_path / 'x', sizes))
    loaded = []

    def load(image, pipeline=own.load):
        loaded.append(image.name)
        return pipeline(image)

    monkeypatch.setattr(own, 'load', load)
    next(own.predict_each(listed, num_samples=1, batch_size=2))
    assert len(loaded) == 8


def test_what_cannot_be_done(own, images, tmp_path):
    (tmp_path / 'taken').write_text('a file')
    (tmp_path / 'bad.png').write_bytes(b'no image')
    for options, words in (
        (dict(inputs=[images[0], tmp_path / 'bad.png']), r'bad\.png'),
        (dict(num_samples=0), 'num_samples=0'),
        (dict(batch_size=0), 'batch_size=0'),
        (dict(out_dir=tmp_path / 'taken'), 'no files can be written'),
    ):
        with pytest.raises(ValueError, match=words):
            own(**dict(inputs=images[0]) | options)


def test_the_guide(tmp_path, monkeypatch, capsys):
    """Code in the guide runs as it stands there."""
    monkeypatch.chdir(tmp_path)
    cfg = stock_config()
    cfg.dump('my_config.py')
    save_weights(cfg, 'my_weights.pth')
    Path(write_images(tmp_path, [(16, 16)])[0]).rename('image.png')
    (code,) = code_blocks('docs/do/inference.md')
    scope = {}
    exec(code, scope)
    printed = capsys.readouterr().out
    for hypothesis in scope['result'].hypotheses:
        assert f'{hypothesis.probability} {hypothesis.members}' in printed
    assert scope['result'].samples.shape == (16, 16, 16)
